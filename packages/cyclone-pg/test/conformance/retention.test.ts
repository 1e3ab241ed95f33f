import { describe, expect, inject, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { bucketOf } from "../../src/model/run-id.ts";
import { trimRuns } from "../../src/sql/sweep/trim-runs.ts";
import { TRIM_START } from "../../src/sql/sweep/trim-text.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { eventually } from "../support/eventually.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);
const fails = defineStep("fails", { maxAttempts: 2, backoff: 1 }, async () => {
  throw new Error("no");
});

async function rowsOf(runId: string): Promise<Record<string, number>> {
  const { rows } = await database.query(
    `select (select count(*)::int from cyclone_runs where id = $1) as runs, (select count(*)::int from cyclone_steps where run_id = $1) as steps,
       (select count(*)::int from cyclone_deps where run_id = $1) as deps, (select count(*)::int from cyclone_attempts where run_id = $1) as attempts`,
    [runId],
  );
  return rows[0] as Record<string, number>;
}
const NOTHING = { runs: 0, steps: 0, deps: 0, attempts: 0 };
/** As if everything that has happened to these runs had happened so much earlier. */
async function age(by: string, ...runIds: string[]): Promise<void> {
  await database.query(
    "update cyclone_runs set created_at = created_at - $1::interval, finished_at = finished_at - $1::interval where id = any ($2::uuid[])",
    [by, runIds],
  );
}

describe("a run that has ended", () => {
  it("is trimmed whole, with nodes, edges and attempts, once it has been kept for as long as the client says", async () => {
    const flow = defineWorkflow("trimmed", (b, n: number) => {
      const first = add.do(b, n);
      fails.do(b, undefined, { after: [first] });
    });
    const producer = testClient(database);
    const worker = await testWorker(database, [add, fails], { retention: "1s" });
    const completed = await add.enqueue(producer, 1, { retention: "1h" });
    const failed = await flow.submit(producer, 1, { retention: "1h" });
    const cancelled = await add.enqueue(producer, 1, { delay: "1h", retention: "1h" });
    await cancelled.cancel();
    await Promise.all([completed.wait(), failed.wait()]);
    expect(await rowsOf(failed.id)).toEqual({ runs: 1, steps: 2, deps: 1, attempts: 2 });
    await database.query("update cyclone_runs set retention_ms = null where id = any ($1::uuid[])", [
      [completed.id, failed.id, cancelled.id],
    ]);
    for (const run of [completed, failed, cancelled]) {
      await eventually(async () => expect(await rowsOf(run.id)).toEqual(NOTHING));
    }
    await expect(completed.state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    await worker.stop();
  });

  it("is kept for as long as its workflow or its start says, longer or shorter than the client", async () => {
    const short = defineWorkflow("short-lived", { retention: "1s" }, (b, n: number) => add.do(b, n));
    const producer = testClient(database);
    const worker = await testWorker(database, [add, short], { retention: "2s" });
    const [gone, kept, own] = [
      await short.submit(producer, 1),
      await short.submit(producer, 1, { retention: "365d" }),
      await add.enqueue(producer, 1, { retention: 0 }),
    ];
    await kept.wait();
    await eventually(async () => expect(await rowsOf(gone.id)).toEqual(NOTHING));
    await eventually(async () => expect(await rowsOf(own.id)).toEqual(NOTHING));
    await age("364 days", kept.id);
    const other = await add.enqueue(producer, 1, { retention: 0 });
    await eventually(async () => expect(await rowsOf(other.id)).toEqual(NOTHING)); // so a round has been
    expect(await kept.output()).toBe(2);
    await age("2 days", kept.id);
    await eventually(async () => expect(await rowsOf(kept.id)).toEqual(NOTHING));
    await worker.stop();
  });

  it("frees its idempotency key when it is trimmed", async () => {
    const producer = testClient(database);
    const worker = await testWorker(database, [add], { retention: "500ms" });
    const first = await add.enqueue(producer, 1, { idempotencyKey: "k" });
    await first.wait();
    await eventually(async () => expect(await rowsOf(first.id)).toEqual(NOTHING));
    const second = await add.enqueue(producer, 1, { idempotencyKey: "k", retention: "1h" });
    expect(second.existing).toBe(false);
    await worker.stop();
  });
});

describe("a run that goes on", () => {
  it("is never trimmed, however old it is, and neither is one that has just been retried", async () => {
    const producer = testClient(database);
    const waiting = await add.enqueue(producer, 1, { queue: "unserved" });
    const retried = await add.enqueue(producer, 1, { queue: "unserved" });
    await retried.cancel();
    await retried.retry();
    await age("10 years", waiting.id, retried.id);
    const other = await add.enqueue(producer, 1);
    const worker = await testWorker(database, [add], { queues: { default: 1 }, retention: "300ms" });
    await eventually(async () => expect(await rowsOf(other.id)).toEqual(NOTHING)); // so a round has been
    expect(await waiting.state()).toBe("running");
    expect(await retried.state()).toBe("running");
    await worker.stop();
  });
});

describe("many runs", () => {
  it("are trimmed in batches, by several workers at once, without an orphan and without a deadlock", {
    timeout: 90_000,
  }, async () => {
    const { rows: before } = await database.query(
      "select deadlocks from pg_stat_database where datname = current_database()",
    );
    const producer = testClient(database);
    const flow = defineWorkflow("many", (b, n: number) => add.do(b, add.do(b, n)));
    const workers = await Promise.all(
      [1, 2, 3].map(() => testWorker(database, [add], { retention: "300ms", concurrency: 20 })),
    );
    const runs = await flow.submitMany(
      producer,
      Array.from({ length: 2_000 }, (_, n) => n),
    );
    // What ends in other ways meanwhile.
    for (const run of runs.slice(0, 200)) {
      // Or it has been trimmed already.
      await run.cancel().catch((error: unknown) => expect(error).toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" }));
    }
    await eventually(async () => {
      const { rows } = await database.query(
        `select (select count(*)::int from cyclone_runs where name = 'many') as runs,
           (select count(*)::int from cyclone_steps s where not exists (select from cyclone_runs r where r.id = s.run_id)) as steps,
           (select count(*)::int from cyclone_deps d where not exists (select from cyclone_runs r where r.id = d.run_id)) as deps,
           (select count(*)::int from cyclone_attempts a where not exists (select from cyclone_runs r where r.id = a.run_id)) as attempts`,
      );
      expect(rows).toEqual([{ runs: 0, steps: 0, deps: 0, attempts: 0 }]);
    }, 60_000);
    await Promise.all(workers.map((worker) => worker.stop()));
    const { rows: after } = await database.query(
      "select deadlocks from pg_stat_database where datname = current_database()",
    );
    expect(after).toEqual(before);
  });

  it("of which one has 10,000 nodes are trimmed by a bounded number of statements", { timeout: 90_000 }, async () => {
    const long = defineWorkflow("long-trimmed", (b, length: number) => {
      let last = add.do(b, 0);
      for (let i = 1; i < length; i++) last = add.do(b, last);
      return last;
    });
    const run = await long.submit(testClient(database), 10_000);
    await run.cancel();
    const bucket = bucketOf(run.id, inject("postgres").bucketCount);
    const { rows } = await database.query(
      trimRuns.text(tablesOf("public")),
      trimRuns.params({ bucket, retentionMs: 0, limit: 100, after: TRIM_START }),
    );
    expect(rows).toMatchObject([{ trimmed: expect.any(Number) }]);
    expect(await rowsOf(run.id)).toEqual(NOTHING);
  });
});
