import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BorrowedConnections } from "../../src/db/borrowed-connections.ts";
import { defineStep } from "../../src/index.ts";
import { freePort } from "../support/free-port.ts";
import { eventsOf, testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

beforeAll(() => database.query("create table effects (run_id uuid, inside boolean)"));

describe("R18: a Pool of two connections, twenty slots, and handlers that use it themselves, inside and outside a completionTx", () => {
  const pools: pg.Pool[] = [];
  afterAll(() => Promise.all(pools.map((pool) => pool.end())));

  it("all of 500 steps end, once each, and no lease runs out", { timeout: 60_000 }, async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pools.push(pool);
    const step = defineStep("uses the pool", async (ctx, n: number) => {
      await pool.query("select 1");
      if (n % 2 === 0) {
        const tx = await ctx.completionTx();
        await tx.query("insert into effects values ($1, true)", [ctx.runId]);
        // The user's own pool, while a connection of the engine's is held.
        await pool.query("select pg_sleep(0.005)");
      } else {
        await pool.query("insert into effects values ($1, false)", [ctx.runId]);
      }
    });
    const worker = testClient(database, {
      connection: pool,
      handlers: [step],
      concurrency: 20,
      leaseTtl: "3s",
      maxConnections: 6,
    });
    const trouble = [
      eventsOf(worker, "lease.lost"),
      eventsOf(worker, "step.reclaimed"),
      eventsOf(worker, "step.failed"),
    ];
    await worker.start();
    const jobs = await step.enqueueMany(
      worker,
      Array.from({ length: 500 }, (_, n) => n),
    );
    await Promise.all(jobs.map((job) => job.wait()));
    await worker.stop();
    const { rows } = await database.query(
      "select count(*)::int as n, count(distinct run_id)::int as runs from effects",
    );
    expect(rows).toEqual([{ n: 500, runs: 500 }]);
    const { rows: steps } = await database.query(
      "select distinct state::text as state, attempts, reclaims from cyclone_steps",
    );
    expect(steps).toEqual([{ state: "completed", attempts: 1, reclaims: 0 }]);
    expect(trouble).toEqual([[], [], []]);
    expect(await pool.query("select 1 as open")).toMatchObject({ rows: [{ open: 1 }] });
  });
});

describe("R18: a connection that isn't to be had", () => {
  it("is waited for so long and no longer, with an error that says what to change", async () => {
    const connections = new BorrowedConnections({
      config: { connectionString: database.url },
      applicationName: "cyclone-test",
      max: 1,
      acquireTimeoutMs: 1_500,
      purpose: "completionTx",
    });
    const held = await connections.acquire();
    await expect(connections.acquire()).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      message: expect.stringMatching(/completionTx.*1500 ms.*maxConnections/),
    });
    held.release();
    const again = await connections.acquire();
    again.release();
    await connections.close();
  });

  it("because nothing listens there is the same error, and says what happened", async () => {
    const connections = new BorrowedConnections({
      config: { host: "127.0.0.1", port: await freePort() },
      applicationName: "cyclone-test",
      max: 1,
      acquireTimeoutMs: 5_000,
      purpose: "completionTx",
    });
    await expect(connections.acquire()).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      message: expect.stringMatching(/completionTx.*ECONNREFUSED/),
    });
    await connections.close();
  });
});
