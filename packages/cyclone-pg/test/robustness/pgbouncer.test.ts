import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { checkHistory, createLedger } from "../support/check-history.ts";
import { eventually } from "../support/eventually.ts";
import { findPgBouncer, type PgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { eventsOf, recordingLog, testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

// PgBouncer is a package of the operating system: where it isn't installed these tests are skipped, except in CI.
const installed = findPgBouncer() !== undefined;
const isCi = process.env["CI"] !== undefined;

it.skipIf(installed || !isCi)("CI has PgBouncer installed", () => {
  expect(installed).toBe(true);
});

describe.skipIf(!installed)(
  "R17: all traffic of workers and producers goes through PgBouncer in transaction mode, with 5 connections to the server",
  () => {
    const database = useTestDatabase();
    let bouncer: PgBouncer;

    beforeAll(async () => {
      bouncer = await startPgBouncer(database.url, { poolSize: 5 });
      await createLedger((text) => database.query(text));
    });
    afterAll(async () => {
      await bouncer[Symbol.asyncDispose]();
    });

    const double = defineStep("double", (_ctx, n: number) => 2 * n);
    const pay = defineAction("pay", async (ctx, n: number) => {
      const tx = await ctx.completionTx();
      await tx.query(
        "insert into ledger (run_id, node, epoch) select run_id, node, lease_epoch from cyclone_steps where run_id = $1 and node = $2 and $3::int > 0",
        [ctx.runId, ctx.node, n],
      );
    });
    const order = defineWorkflow("order", (b, n: number) => {
      const doubled = double.do(b, n);
      pay.do(b, doubled);
      return doubled;
    });

    interface Watched {
      readonly client: Client;
      readonly said: () => string[];
    }

    async function startWorker(): Promise<Watched> {
      const { log, lines } = recordingLog();
      const client = testClient(
        { url: bouncer.url },
        { handlers: [double, pay, order], directConnection: database.url, log },
      );
      const errors = eventsOf(client, "error");
      await client.start();
      return {
        client,
        said: () => [
          ...lines.map((line) => `${line.message} ${JSON.stringify(line.fields ?? {})}`),
          ...errors.map(String),
        ],
      };
    }

    it("2,000 runs by 3 workers complete, each effect once, without one error about a prepared statement", {
      timeout: 60_000,
    }, async () => {
      const workers = await Promise.all([startWorker(), startWorker(), startWorker()]);
      const producer = testClient({ url: bouncer.url }, { listen: false });
      const numbers = Array.from({ length: 1_500 }, (_, n) => n + 1);
      const orders = await order.submitMany(producer, numbers.slice(0, 500));
      const jobs = await double.enqueueMany(producer, numbers);
      await eventually(async () => {
        const { rows } = await database.query("select 1 from cyclone_runs where state = 'running' limit 1");
        expect(rows).toEqual([]);
      }, 50_000);
      const some = [...orders.slice(0, 50), ...jobs.slice(0, 50)];
      const doubled = numbers.slice(0, 50).map((n) => 2 * n);
      expect(await Promise.all(some.map((run) => run.result()))).toEqual([...doubled, ...doubled]);
      const { rows } = await database.query(
        "select max(attempts) as attempts, max(reclaims) as reclaims, count(*)::int as n from cyclone_steps",
      );
      expect(rows).toEqual([{ attempts: 1, reclaims: 0, n: 2_500 }]);
      for (const { said, client } of workers) {
        expect(said()).toEqual([]);
        await client.stop();
      }
      expect(bouncer.log()).not.toMatch(/prepared statement/);
      expect(await checkHistory(database.url, { mode: "liveness", ledger: { table: "ledger" } })).toEqual([]);
    });

    it("a wake-up is heard on the direct connection; a listener behind the pooler is found to be deaf, and polling goes on", async () => {
      const direct = testClient(
        { url: bouncer.url },
        { handlers: [double], directConnection: database.url, pollInterval: "1h" },
      );
      await direct.start();
      const producer = testClient({ url: bouncer.url }, { listen: false });
      const woken = await double.enqueue(producer, 1);
      expect(await woken.output().catch(() => woken.result({ signal: AbortSignal.timeout(5_000) }))).toBe(2);
      await direct.stop();

      const deaf = testClient({ url: bouncer.url }, { handlers: [double], leaseTtl: "3s" });
      const degraded = eventsOf(deaf, "worker.degraded");
      await deaf.start();
      // Also while one connection to the server serves everybody, so that what the listener sends comes back to it.
      await eventually(async () => expect(degraded.length).toBeGreaterThan(0));
      expect(degraded[0]?.reason).toMatch(/directConnection/);
      expect(await (await double.enqueue(producer, 2)).result()).toBe(4);
      await deaf.stop();
    });

    it("the pooler is restarted: workers and producers go on by themselves, and nothing is charged", async () => {
      const { client } = await startWorker();
      const before = await order.submit(client, 1);
      expect(await before.result()).toBe(2);
      await bouncer.stop();
      await bouncer.start();
      const after = await eventually(() => order.submit(client, 2));
      expect(await after.result()).toBe(4);
      expect((await after.nodes()).map((node) => node.attempt)).toEqual([1, 1]);
      await client.stop();
    });
  },
);
