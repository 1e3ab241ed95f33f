import { createClient, defineAction, defineStep, defineWorkflow } from "cyclone-pg";
import { bareCompletionTx, bareJobs } from "./bare.mjs";

const noop = defineStep("noop", (_ctx, /** @type {number} */ n) => n);
const join = defineStep("join", (_ctx, /** @type {number[]} */ list) => list.length);
const chain = defineWorkflow("chain", (b, /** @type {number} */ n) => noop.do(b, noop.do(b, noop.do(b, n))));
const fan = defineWorkflow("fan", (b, /** @type {number} */ n) => {
  const head = noop.do(b, n);
  return join.do(
    b,
    Array.from({ length: 100 }, () => noop.do(b, head)),
  );
});

/**
 * @typedef {import("./with-schema.mjs").Place & { scale: number, concurrency: number }} Setting
 * @typedef {{ name: string, unit: string, beside?: string, run: (setting: Setting) => Promise<import("./with-schema.mjs").Figures> }} Scenario
 */

/** @type {Scenario[]} */
export const scenarios = [
  { name: "bare", unit: "jobs", run: (s) => bareJobs({ ...s, count: 20_000 * s.scale }, noop) },
  {
    name: "jobs",
    unit: "jobs",
    beside: "bare",
    run: (s) => drain(s, 20_000 * s.scale, 1, (client, count) => noop.enqueueMany(client, numbers(count))),
  },
  {
    name: "chains",
    unit: "chains of 3",
    beside: "bare",
    run: (s) => drain(s, 4_000 * s.scale, 3, (client, count) => chain.submitMany(client, numbers(count))),
  },
  {
    name: "fans",
    unit: "fans 1→100→1",
    beside: "bare",
    run: (s) => drain(s, 100 * s.scale, 102, (client, count) => fan.submitMany(client, numbers(count))),
  },
  { name: "bare-tx", unit: "jobs", run: (s) => bareCompletionTx({ ...s, count: 2_000 * s.scale }, noop) },
  {
    name: "completionTx",
    unit: "jobs",
    beside: "bare-tx",
    run: async (s) => {
      await s.admin.query(`create table ${s.schema}.ledger (run_id uuid, node text, amount int)`);
      const charge = defineAction("charge", async (ctx, /** @type {number} */ amount) => {
        const tx = await ctx.completionTx();
        await tx.query(`insert into ${s.schema}.ledger (run_id, node, amount) values ($1, $2, $3)`, [
          ctx.runId,
          ctx.node,
          amount,
        ]);
      });
      return drain(
        { ...s, concurrency: 50 },
        2_000 * s.scale,
        1,
        (client, count) => charge.enqueueMany(client, numbers(count)),
        [charge],
      );
    },
  },
];

/** @param {number} count */
const numbers = (count) => Array.from({ length: count }, (_, i) => i);

/**
 * Starts a worker on runs that are all there, until the last is completed in the database.
 * @param {Setting} setting
 * @param {number} count
 * @param {number} stepsPerRun
 * @param {(client: import("cyclone-pg").Client, count: number) => Promise<unknown>} submit
 * @param {readonly import("cyclone-pg").Registrable[]} [handlers]
 */
async function drain(setting, count, stepsPerRun, submit, handlers = [noop, join, chain, fan]) {
  const { url, schema, admin, concurrency } = setting;
  const client = createClient({ connection: url, schema, handlers, concurrency, maxConnections: 12 });
  try {
    await submit(client, count);
    return await setting.measure(count, count * stepsPerRun, async () => {
      await client.start();
      for (;;) {
        const { rows } = await admin.query(
          `select exists (select from ${schema}.cyclone_runs where state = 'running' limit 1) as busy`,
        );
        if (!rows[0].busy) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  } finally {
    await client.stop();
  }
}
