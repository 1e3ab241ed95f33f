import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow, stepRows } from "../support/engine-rows.ts";
import { notingPool } from "../support/noting-pool.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);

describe("a failed run that is retried", () => {
  it("runs again only what wasn't completed: of 1,000 nodes those of the broken branch", {
    timeout: 60_000,
  }, async () => {
    const calls = new Map<string, number>();
    let broken = true;
    const counted = defineStep("counted", { maxAttempts: 1 }, async (ctx, n: number) => {
      calls.set(ctx.node, (calls.get(ctx.node) ?? 0) + 1);
      if (broken && n === 500) throw new Error("broken for now");
      return n;
    });
    const sum = defineStep("sum", async (_ctx, numbers: number[]) => numbers.reduce((a, b) => a + b, 0));
    const wide = defineWorkflow("wide", (b, width: number) =>
      sum.do(
        b,
        Array.from({ length: width }, (_, n) => counted.do(b, n, { name: `n-${n}` })),
      ),
    );
    await testWorker(database, [counted, sum], { concurrency: 50 });
    const run = await wide.submit(testClient(database), 999);
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "broken for now", node: "n-500" } });
    expect(calls.size).toBe(999);
    broken = false;
    await run.retry();
    expect(await run.result()).toBe((999 * 998) / 2);
    expect([...calls].filter(([, times]) => times > 1)).toEqual([["n-500", 2]]);
  });

  it("begins anew with attempts, reclaims and error, and goes on with the epoch, so that a lease of old stays fenced", async () => {
    let fail = true;
    const flaky = defineStep("flaky", { maxAttempts: 2, backoff: 1 }, async (ctx) => {
      if (fail) throw new Error(`attempt ${ctx.attempt}`);
      return ctx.attempt;
    });
    await testWorker(database, [flaky]);
    const job = await flaky.enqueue(testClient(database));
    expect((await job.wait()).state).toBe("failed");
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 2, lease_epoch: 2 });
    fail = false;
    await job.retry();
    expect(await job.result()).toBe(1);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 3, error: null });
    expect(await job.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
  });

  it("fails again if it fails again, with the new error, and can be retried again", async () => {
    let times = 0;
    const fails = defineStep("fails", { maxAttempts: 1 }, async () => {
      times += 1;
      if (times < 3) throw new Error(`time ${times}`);
      return times;
    });
    await testWorker(database, [fails]);
    const job = await fails.enqueue(testClient(database));
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "time 1" } });
    await job.retry();
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "time 2" } });
    await job.retry();
    expect(await job.result()).toBe(3);
  });
});

describe("a cancelled run that is retried", () => {
  it("goes on where it was, in the order of the graph", async () => {
    const flow = defineWorkflow("cancelled-then-retried", (b, n: number) => {
      const first = add.do(b, n, { name: "first" });
      const left = add.do(b, first, { name: "left" });
      const right = add.do(b, first, { name: "right" });
      return add.do(b, left, { name: "last", after: [right] });
    });
    const producer = testClient(database);
    const run = await flow.submit(producer, 1, { delay: "1h" });
    await run.cancel();
    await run.retry();
    expect((await stepRows(database, run.id)).map(({ node, state, pending }) => [node, state, pending])).toEqual([
      ["first", "available", 0],
      ["left", "pending", 1],
      ["right", "pending", 1],
      ["last", "pending", 2],
    ]);
    await testWorker(database, [add]);
    expect(await run.result()).toBe(4);
    expect(await run.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
  });

  it("after its handler had begun: the call of old can't commit under the new epoch", async () => {
    await database.query("create table once (run_id uuid)");
    let gate: (() => void) | undefined;
    let calls = 0;
    const entered: Array<() => void> = [];
    const firstEntered = new Promise<void>((resolve) => entered.push(resolve));
    const writes = defineAction("writes-once", async (ctx) => {
      calls += 1;
      const tx = await ctx.completionTx();
      if (calls === 1) {
        entered[0]?.();
        await new Promise<void>((resolve) => {
          gate = resolve;
        });
      }
      await tx.query("insert into once values ($1)", [ctx.runId]);
    });
    const worker = await testWorker(database, [writes], { listen: false, leaseTtl: "60s" }); // so that it doesn't hear of the cancel
    const producer = testClient(database);
    const job = await writes.enqueue(producer);
    await firstEntered;
    await job.cancel();
    await job.retry();
    await testWorker(database, [writes]);
    await job.result();
    gate?.();
    await worker.stop();
    expect((await database.query("select * from once")).rows).toEqual([{ run_id: job.id }]);
  });
});

describe("retry", () => {
  it("of a run that is running, has completed or doesn't exist is a clear error", async () => {
    await testWorker(database, [add]);
    const producer = testClient(database);
    const delayed = await add.enqueue(producer, 1, { delay: "1h" });
    const completed = await add.enqueue(producer, 1);
    await completed.result();
    await expect(delayed.retry()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_RETRYABLE", state: "running" });
    await expect(completed.retry()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_RETRYABLE", state: "completed" });
    await expect(producer.run(randomUUID()).retry()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
  });

  it("by many at once is done by one of them", async () => {
    const producer = testClient(database);
    const flow = defineWorkflow("retried-by-many", (b, n: number) => add.do(b, add.do(b, n)));
    const run = await flow.submit(producer, 1, { delay: "1h" });
    await run.cancel();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => run.retry()));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { rows } = await database.query("select state::text as state, remaining from cyclone_runs where id = $1", [
      run.id,
    ]);
    expect(rows).toEqual([{ state: "running", remaining: 2 }]);
    await testWorker(database, [add]);
    expect(await run.result()).toBe(3);
  });

  it("counts a completion that nobody had counted, so that what follows it isn't stranded", async () => {
    const producer = testClient(database);
    const flow = defineWorkflow("uncounted", (b, n: number) => {
      const left = add.do(b, n, { name: "left" });
      const right = add.do(b, n, { name: "right" });
      return add.do(b, left, { name: "last", after: [right] });
    });
    const run = await flow.submit(producer, 1);
    // As a worker leaves it that dies right after the COMMIT of a completionTx.
    await database.query(
      "update cyclone_steps set state = 'completed', attempts = 1, lease_epoch = 1, finished_at = statement_timestamp(), unactivated = true, output = '2' where run_id = $1 and node = 'left'",
      [run.id],
    );
    expect(await run.cancel()).toBe("cancelled");
    await run.retry();
    expect((await stepRows(database, run.id)).map(({ node, state, pending }) => [node, state, pending])).toEqual([
      ["left", "completed", 0],
      ["right", "available", 0],
      ["last", "pending", 1],
    ]);
    await testWorker(database, [add]);
    expect(await run.result()).toBe(3);
  });

  it("of a chain of 10,000 nodes takes a bounded number of statements", { timeout: 120_000 }, async () => {
    const long = defineWorkflow("long-retried", (b, length: number) => {
      let last = add.do(b, 0);
      for (let i = 1; i < length; i++) last = add.do(b, last);
      return last;
    });
    const { pool, names } = notingPool(database);
    const run = await long.submit(testClient(database, { connection: pool }), 10_000);
    await run.cancel();
    names.length = 0;
    await run.retry();
    expect(names).toEqual(["retry_run"]);
    const { rows } = await database.query(
      "select state::text as state, pending, count(*)::int as n from cyclone_steps where run_id = $1 group by 1, 2 order by 2",
      [run.id],
    );
    expect(rows).toEqual([
      { state: "available", pending: 0, n: 1 },
      { state: "pending", pending: 1, n: 9_999 },
    ]);
  });
});
