import { Client as PgClient } from "pg";
import { describe, expect, it } from "vitest";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import { enumerateSubmit, type SubmitTransition } from "./enumerate-submit.ts";

const record = new CrashRecord();

/** One statement of a submit takes 2,000 rows: a run of 45² edges needs two, and so do two runs of 32² edges. */
const wide = 45;
const halfAsWide = 32;

const transitions: readonly SubmitTransition[] = [
  {
    transition: "submit one run",
    submit: async ({ world, client, tag }) => {
      const run = await world.scenarios.fan.submit(client, 1, { tags: [tag] });
      world.expect({ run: run.id, state: "completed", output: 12 });
      return [run.id];
    },
  },
  {
    transition: "submit one run in several batches",
    submit: async ({ world, client, tag }) => {
      const run = await world.scenarios.layers.submit(client, wide, { tags: [tag] });
      return [run.id];
    },
  },
  {
    transition: "submit many in several batches",
    runs: 2,
    submit: async ({ world, client, tag }) => {
      const runs = await world.scenarios.layers.submitMany(client, [halfAsWide, halfAsWide], { tags: [tag] });
      return runs.map((run) => run.id);
    },
  },
  {
    transition: "submit with a new key",
    keyed: true,
    submit: async ({ world, client, tag }) => {
      const run = await world.scenarios.chain.submit(client, 1, { tags: [tag], idempotencyKey: tag });
      if (run.existing) world.complain("a new run says that it existed");
      world.expect({ run: run.id, state: "completed", output: 5 });
      return [run.id];
    },
  },
  {
    transition: "submit many with new keys in several batches",
    runs: 2,
    submit: async ({ world, client, tag }) => {
      const runs = await world.scenarios.layers.submitMany(client, [halfAsWide, halfAsWide], {
        tags: [tag],
        idempotencyKey: (_input, index) => `${tag}-${index}`,
      });
      if (runs.some((run) => run.existing)) world.complain("a new run says that it existed");
      return runs.map((run) => run.id);
    },
  },
  {
    transition: "submit with a key that is taken",
    keyed: true,
    given: async (world, tag) => {
      await world.scenarios.double.enqueue(world.producer, 4, { tags: [tag], idempotencyKey: tag });
    },
    submit: async ({ world, client, tag }) => {
      const job = await world.scenarios.double.enqueue(client, 4, { tags: ["another"], idempotencyKey: tag });
      if (!job.existing) world.complain("the run of a taken key says that it is new");
      return [job.id];
    },
  },
  {
    transition: "submit in the caller's transaction",
    given: async (world) => {
      await world.database.query("create table if not exists orders (name text)");
    },
    submit: async ({ world, client, url, tag }) => {
      const tx = new PgClient({ connectionString: url });
      tx.on("error", () => {});
      await tx.connect();
      try {
        await tx.query("begin");
        await tx.query("insert into orders values ($1)", [tag]);
        const run = await world.scenarios.chain.submit(client, 1, { tx, tags: [tag] });
        await tx.query("commit");
        return [run.id];
      } finally {
        await tx.end().catch(() => {});
      }
    },
    check: async (world, tag, made) => {
      const { rows } = await world.database.query("select 1 from orders where name = $1", [tag]);
      return rows.length === made ? [] : [`${rows.length} orders with ${made} runs`];
    },
  },
  {
    transition: "submit with a delay",
    submit: async ({ world, client, tag }) => {
      const run = await world.scenarios.chain.submit(client, 1, { tags: [tag], delay: "50ms" });
      return [run.id];
    },
  },
  {
    transition: "submit with a key and a delay",
    keyed: true,
    submit: async ({ world, client, tag }) => {
      const run = await world.scenarios.chain.submit(client, 1, { tags: [tag], idempotencyKey: tag, delay: "50ms" });
      return [run.id];
    },
  },
];

describe.concurrent("a submit that is cut at any point is there whole, or not at all", { timeout: 600_000 }, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateSubmit(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.submit)).toEqual([]);
});
