import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { type ClientOptions, defineStep } from "../../src/index.ts";
import { startCrashProxy } from "../support/crash-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Counts the engine's sessions again and again while `work` runs; returns the most that there were at once. */
async function mostSessions(work: () => Promise<unknown>, name = "cyclone%"): Promise<number> {
  let most = 0;
  const done = new AbortController();
  const watch = (async () => {
    while (!done.signal.aborted) {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and application_name like $1 and application_name <> 'cyclone-test'`,
        [name],
      );
      most = Math.max(most, rows[0]?.count ?? 0);
      await sleep(5);
    }
  })();
  await work();
  done.abort();
  await watch;
  return most;
}

const effect = defineStep("effect", async (ctx, n: number) => {
  const tx = await ctx.completionTx();
  await tx.query("select pg_sleep(0.002)");
  return n;
});

describe("maxConnections", () => {
  it("is never exceeded, under load and with handlers that all use their completionTx", async () => {
    const cases: Partial<ClientOptions>[] = [{}, { maxConnections: 6 }, { maxConnections: 5, listen: false }];
    for (const options of cases) {
      const client = testClient(database, { handlers: [effect], concurrency: 40, ...options });
      const most = await mostSessions(async () => {
        await client.start();
        const jobs = await effect.enqueueMany(
          client,
          Array.from({ length: 150 }, (_, n) => n),
        );
        const reads = jobs.map((job) => job.state());
        expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map((_, n) => n));
        await Promise.all(reads);
      });
      await client.stop();
      expect(most).toBeLessThanOrEqual(options.maxConnections ?? 10);
      expect(most).toBeGreaterThanOrEqual(4);
    }
  });

  it("bounds a producer as well, hundreds of its starts and waits included", async () => {
    const quick = defineStep("quick", async (_ctx, n: number) => n);
    await testWorker(database, [quick]);
    const connection = { connectionString: database.url, application_name: "a-producer" };
    const producer = testClient(database, { connection, maxConnections: 3 });
    const most = await mostSessions(async () => {
      const jobs = await Promise.all(Array.from({ length: 300 }, (_, n) => quick.enqueue(producer, n)));
      await Promise.all(jobs.map((job) => job.result()));
    }, "a-producer");
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThanOrEqual(2);
  });

  it("that is too small to work with is refused at start, with the number that is needed", async () => {
    for (const [options, least] of [
      [{ maxConnections: 5 }, 6],
      [{ maxConnections: 4, listen: false }, 5],
      [{ maxConnections: 1 }, 6],
    ] as const) {
      const client = testClient(database, { handlers: [effect], ...options });
      await expect(client.start()).rejects.toMatchObject({
        code: "CYCLONE_INVALID_OPTION",
        message: expect.stringContaining(`at least ${least}`),
      });
    }
  });
});

describe("handlers that use up connections", () => {
  it("wait for their completionTx in line, and all get one", async () => {
    const order: number[] = [];
    const gate = latch();
    const inLine = defineStep("in-line", async (ctx, n: number) => {
      const tx = await ctx.completionTx();
      order.push(n);
      if (n === 0) await gate.opened;
      await tx.query("select 1");
    });
    // One connection is left for completionTx.
    const client = testClient(database, { handlers: [inLine], concurrency: 20, maxConnections: 6 });
    await client.start();
    const first = await inLine.enqueue(client, 0);
    await eventually(() => expect(order).toEqual([0]));
    const jobs = [];
    for (let n = 1; n < 20; n++) jobs.push(await inLine.enqueue(client, n));
    gate.open();
    await Promise.all([first, ...jobs].map((job) => job.result()));
    expect(order).toHaveLength(20);
  });

  it("starve neither the renewals nor the completions nor the claims: a Pool that is used up by handlers is enough", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => undefined);
    try {
      const greedy = defineStep("greedy", async (ctx, n: number) => {
        const own = await pool.connect();
        try {
          const tx = await ctx.completionTx();
          await tx.query("select 1");
          await own.query("select pg_sleep(0.01)");
        } finally {
          own.release();
        }
        return n;
      });
      const client = testClient(database, { connection: pool, handlers: [greedy], concurrency: 20, leaseTtl: "2s" });
      await client.start();
      const lost = eventsOf(client, "lease.lost");
      const jobs = await greedy.enqueueMany(
        client,
        Array.from({ length: 200 }, (_, n) => n),
      );
      await client.drain();
      expect(await Promise.all(jobs.map((job) => job.output()))).toEqual(jobs.map((_, n) => n));
      expect(lost).toEqual([]);
    } finally {
      await pool.end();
    }
  });
});

describe("an idle worker", () => {
  it("makes at most one query a second and bucket, besides renewals, though it has a queue full of others' work", {
    timeout: 30_000,
  }, async () => {
    const stranger = defineStep("stranger", async () => {});
    const producer = testClient(database);
    await stranger.enqueueMany(
      producer,
      Array.from({ length: 200 }, () => undefined),
    );
    await stranger.enqueueMany(
      producer,
      Array.from({ length: 200 }, () => undefined),
      { delay: "1h" },
    );
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { handlers: [effect], pollInterval: "1s" });
    await client.start();
    await (await effect.enqueue(client, 1)).result();
    await sleep(500);
    proxy.arm({ only: (text) => !text.includes("cyclone:renew_leases") });
    await sleep(8_000);
    const labels = proxy.points.map((point) => point.label);
    const { bucketCount } = inject("postgres");
    const looks = labels.filter((label) => label === "look");
    // 8 s at one look per 1 to 1.3 s. Besides, two to trim come every 40 to 52 s, and the listener's probe every 15 s.
    expect(looks.length, labels.join(", ")).toBeLessThanOrEqual(8 * bucketCount);
    expect(looks.length).toBeGreaterThanOrEqual(5);
    expect(labels.length - looks.length, labels.join(", ")).toBeLessThanOrEqual(2 * bucketCount + 1);
  });

  it("runs no transaction while a handler runs outside a completionTx", async () => {
    const gate = latch();
    const held = defineStep("held", async () => gate.opened);
    const client = await testWorker(database, [held], { leaseTtl: "1s" });
    const jobs = await held.enqueueMany(client, [undefined, undefined, undefined]);
    await eventually(async () => {
      const { rows } = await database.query(
        "select count(*)::int as count from cyclone_steps where step = 'held' and state = 'running'",
      );
      expect(rows).toEqual([{ count: 3 }]);
    });
    for (let i = 0; i < 40; i++) {
      const { rows } = await database.query(
        "select application_name from pg_stat_activity where datname = current_database() and application_name like 'cyclone%' and state like 'idle in transaction%'",
      );
      expect(rows).toEqual([]);
      await sleep(10);
    }
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
  });
});
