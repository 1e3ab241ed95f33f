import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow, TimeoutError } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

describe("a handler that takes longer than its timeout", () => {
  it("gets the signal, with the reason, and its attempt is recorded as timed out", async () => {
    const reasons: unknown[] = [];
    const slow = defineStep("slow", { timeout: "100ms", maxAttempts: 2, backoff: 1 }, async (ctx) => {
      const begun = performance.now();
      await aborted(ctx.signal);
      reasons.push(ctx.signal.reason);
      expect(performance.now() - begun).toBeGreaterThanOrEqual(90);
      ctx.signal.throwIfAborted();
    });
    const client = await testWorker(database, [slow]);
    const job = await slow.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_TIMEOUT" } });
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toBeInstanceOf(TimeoutError);
    expect(reasons[0]).toMatchObject({ runId: job.id, node: "slow", timeoutMs: 100 });
    expect((await attemptRows(database, job.id)).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["timed_out", 1],
      ["timed_out", 2],
    ]);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 2 });
  });

  it("is charged the timeout whatever it throws then, and a result that comes after it is refused", async () => {
    const late = defineStep("late", { timeout: "50ms", maxAttempts: 1 }, async (ctx, how: "throws" | "returns") => {
      await aborted(ctx.signal);
      if (how === "throws") throw new Error("something else");
      return "too late";
    });
    const client = await testWorker(database, [late]);
    for (const job of await late.enqueueMany(client, ["throws", "returns"])) {
      expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_TIMEOUT" } });
      expect((await stepRow(database, job.id)).output).toBeNull();
    }
  });

  it("has its completionTx undone", async () => {
    await database.query("create table effects (attempt int)");
    const writes = defineStep("writes", { timeout: "150ms", backoff: 1 }, async (ctx) => {
      await (await ctx.completionTx()).query("insert into effects values ($1)", [ctx.attempt]);
      if (ctx.attempt === 1) await aborted(ctx.signal);
    });
    const client = await testWorker(database, [writes]);
    await (await writes.enqueue(client)).result();
    expect((await database.query("select attempt from effects")).rows).toEqual([{ attempt: 2 }]);
  });

  it("and ignores the signal keeps its slot, is reported as stuck, and its result is refused", {
    timeout: 30_000,
  }, async () => {
    const gate = latch();
    let calls = 0;
    const deaf = defineStep("deaf", { timeout: "50ms", maxAttempts: 1 }, async () => {
      calls += 1;
      await gate.opened;
      return "much too late";
    });
    const client = await testWorker(database, [deaf], { concurrency: 1 });
    const stuck = eventsOf(client, "worker.stuck");
    const job = await deaf.enqueue(client);
    // The attempt is recorded without it, 5 s after the signal.
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_TIMEOUT" } });
    expect(stuck).toEqual([{ runId: job.id, node: "deaf", step: "deaf", attempt: 1 }]);
    const second = await deaf.enqueue(client);
    // The one slot is still taken by the handler that doesn't end.
    await eventually(async () => expect((await stepRow(database, second.id)).state).toBe("available"));
    expect(calls).toBe(1);
    gate.open();
    await second.wait();
    expect(calls).toBe(2);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", output: null, attempts: 1 });
  });

  it("and returns in time has none of this, and leaves no timer behind", async () => {
    const quick = defineStep("quick", { timeout: "1h" }, async (ctx) => ctx.signal.aborted);
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const client = await testWorker(database, [quick]);
    const jobs = await quick.enqueueMany(
      client,
      Array.from({ length: 20 }, () => undefined),
    );
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map(() => false));
    await client.stop();
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBeLessThanOrEqual(
      before + 1,
    );
  });
});

describe("the timeout", () => {
  it("of a node goes before the step's own, which the worker's code keeps", async () => {
    const step = defineStep("both", { timeout: "1h", maxAttempts: 1 }, async (ctx) => {
      await aborted(ctx.signal);
    });
    const client = await testWorker(database, [step]);
    const run = await defineWorkflow("own", (b) => void step.do(b, undefined, { timeout: "60ms" })).submit(client);
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: expect.stringContaining("60 ms") } });
    const contract = defineStep("in-code", { timeout: "1h" });
    const code = defineStep("in-code", { timeout: "60ms", maxAttempts: 1 }, async (ctx) => aborted(ctx.signal));
    const worker = await testWorker(database, [code]);
    const job = await contract.enqueue(testClient(database));
    // The contract said 25 attempts.
    await eventually(async () =>
      expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["timed_out"]),
    );
    await worker.stop();
  });

  it("must be at least a millisecond, where it is given", () => {
    for (const timeout of [0, -1, Number.NaN, "soon" as never]) {
      expect(() => defineStep("x", { timeout }, async () => {}), String(timeout)).toThrowError(
        expect.objectContaining({ code: "CYCLONE_INVALID_OPTION" }),
      );
    }
  });
});
