import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow, RunFailedError } from "../../src/index.ts";
import { stepRow, stepRows } from "../support/engine-rows.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);
const bad = defineStep("bad", { maxAttempts: 1 }, async () => {
  throw new Error("bad for good");
});

describe("a workflow with failFast, of which a node is discarded", () => {
  it("cancels the rest at once: of 100 branches nothing starts any more, what runs hears it, and no row stays open", async () => {
    const [entered, reason] = [latch(), latch<unknown>()];
    const running = defineStep("running-branch", async (ctx, n: number) => {
      entered.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      reason.open(ctx.signal.reason);
      return n;
    });
    const slow = defineStep("delayed-bad", { maxAttempts: 1 }, async () => {
      await entered.opened;
      throw new Error("bad for good");
    });
    const flow = defineWorkflow("fails-fast", { failFast: true }, (b) => {
      running.do(b, 0);
      slow.do(b);
      for (let n = 0; n < 100; n++) add.do(b, add.do(b, n, { queue: "unserved" }));
    });
    const worker = await testWorker(database, [running, slow, add], { queues: { default: 5 }, leaseTtl: "60s" });
    const failed = eventsOf(worker, "run.failed");
    const run = await flow.submit(testClient(database));
    expect(await run.wait()).toMatchObject({
      state: "failed",
      error: { message: "bad for good", node: "delayed-bad" },
    });
    expect(await reason.opened).toBeInstanceOf(RunFailedError);
    await worker.stop();
    const states = (await stepRows(database, run.id)).map(({ state }) => state);
    expect(states[1]).toBe("discarded");
    expect(states.filter((state) => state === "cancelled")).toHaveLength(201);
    const { rows } = await database.query("select remaining, failed from cyclone_runs where id = $1", [run.id]);
    expect(rows).toEqual([{ remaining: 0, failed: 1 }]);
    expect(failed).toEqual([{ runId: run.id, name: "fails-fast" }]);
  });

  it("fails just as without it when nothing else is open, and can be retried as a whole", async () => {
    let broken = true;
    const first = defineStep("broken-first", { maxAttempts: 1 }, async () => {
      if (broken) throw new Error("broken");
      return 1;
    });
    const flow = defineWorkflow("fails-fast-alone", { failFast: true }, (b) => add.do(b, first.do(b)));
    await testWorker(database, [first, add]);
    const run = await flow.submit(testClient(database));
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "broken" } });
    broken = false;
    await run.retry();
    expect(await run.result()).toBe(2);
  });

  it("is ended by any worker's sweep if the one that discarded the node dies before it cancels the rest", async () => {
    const flow = defineWorkflow("fails-fast-later", { failFast: true }, (b) => {
      bad.do(b);
      add.do(b, 1, { queue: "unserved" });
    });
    const run = await flow.submit(testClient(database));
    // As the discarding transaction leaves it.
    await database.query(
      "update cyclone_steps set state = 'discarded', finished_at = statement_timestamp(), attempts = 1 where run_id = $1 and node = 'bad'",
      [run.id],
    );
    await database.query(
      'update cyclone_runs set remaining = 1, failed = 1, error = \'{"name": "Error", "message": "bad for good"}\', deadline = statement_timestamp() where id = $1',
      [run.id],
    );
    await testWorker(database, [bad, add], { queues: { default: 1 } });
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "bad for good" } });
    expect(await stepRow(database, run.id, "add")).toMatchObject({ state: "cancelled" });
  });
});

describe("a deadline", () => {
  it("fails the run: what hasn't ended is cancelled, what runs hears it", async () => {
    const reason = latch<unknown>();
    const endless = defineStep("endless", async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      reason.open(ctx.signal.reason);
    });
    const flow = defineWorkflow("overdue", (b) => {
      const first = add.do(b, 1);
      endless.do(b, undefined, { after: [first] });
      add.do(b, first, { queue: "unserved" });
    });
    const worker = await testWorker(database, [add, endless], {
      queues: { default: 5 },
      leaseTtl: "60s",
      pollInterval: "10s",
    });
    const run = await flow.submit(testClient(database), undefined, { deadline: "1500ms" });
    const began = performance.now();
    expect(await run.wait()).toMatchObject({
      state: "failed",
      error: { code: "CYCLONE_DEADLINE", name: "DeadlineError", message: expect.stringContaining("deadline") },
    });
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect(await reason.opened).toMatchObject({ code: "CYCLONE_RUN_FAILED" });
    await worker.stop();
    expect((await stepRows(database, run.id)).map(({ state }) => state)).toEqual([
      "completed",
      "cancelled",
      "cancelled",
    ]);
  });

  it("is told to each handler of the run, also after a retry; without one there is none", async () => {
    const seen: (Date | undefined)[] = [];
    const tells = defineStep("tells-deadline", { maxAttempts: 1 }, async (ctx, fails: boolean) => {
      seen.push(ctx.deadline);
      if (fails && seen.length < 3) throw new Error("again");
    });
    const flow = defineWorkflow("told-deadline", (b) => tells.do(b, true, { after: [tells.do(b, false)] }));
    const worker = await testWorker(database, [tells]);
    const producer = testClient(database);
    const at = new Date(Date.now() + 3_600_000);
    const run = await flow.submit(producer, undefined, { deadline: at });
    expect(await run.wait()).toMatchObject({ state: "failed" });
    await run.retry();
    await run.result();
    expect(seen).toEqual([at, at, at]);
    await (await tells.enqueue(producer, false)).result();
    expect(seen.at(-1)).toBeUndefined();
    const { rows } = await database.query<{ deadline: Date }>(
      "select statement_timestamp() + interval '2 hours' as deadline",
    );
    await (await tells.enqueue(producer, false, { deadline: "2h" })).result();
    expect(Math.abs(Number(seen.at(-1)) - Number(rows[0]?.deadline))).toBeLessThan(60_000);
    await worker.stop();
  });

  it("that a run meets changes nothing, and one that has passed at the start ends it before anything is called", async () => {
    const producer = testClient(database);
    const late = await add.enqueue(producer, 1, { deadline: new Date(0), queue: "unserved" });
    const farOff = new Date(Date.now() + 3_600_000).toISOString();
    const intime = await add.enqueue(producer, 1, { deadline: farOff });
    await testWorker(database, [add], { queues: { default: 5 } });
    expect(await intime.result()).toBe(2);
    expect(await late.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_DEADLINE" } });
    expect(await stepRow(database, late.id)).toMatchObject({ state: "cancelled", attempts: 0 });
  });

  it("of a run that the database refuses to end holds up no other: it is set aside, and told of", async () => {
    await database.query(
      "alter table cyclone_runs add constraint poison check (name <> 'poisoned' or state <> 'failed')",
    );
    const poisoned = defineWorkflow("poisoned", (b) => add.do(b, 1, { queue: "unserved" }));
    const producer = testClient(database);
    const bad = await poisoned.submit(producer, undefined, { deadline: new Date(0) });
    const good = await add.enqueue(producer, 1, { deadline: new Date(1_000), queue: "unserved" });
    const worker = testClient(database, { handlers: [add], queues: { default: 1 } });
    const errors = eventsOf(worker, "error");
    await worker.start();
    expect(await good.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_DEADLINE" } });
    expect(errors).toEqual([expect.objectContaining({ runId: bad.id })]);
    expect(await bad.state()).toBe("running");
    await worker.stop();
    await database.query("alter table cyclone_runs drop constraint poison");
    await bad.cancel();
  });

  it("that is still to come holds on when the run is retried", async () => {
    const producer = testClient(database);
    const job = await add.enqueue(producer, 1, { deadline: "1h", delay: "1h" });
    await job.cancel();
    await job.retry();
    const { rows } = await database.query(
      "select deadline > statement_timestamp() as holds from cyclone_runs where id = $1",
      [job.id],
    );
    expect(rows).toEqual([{ holds: true }]);
    await job.cancel();
  });

  it("that has passed no longer holds when the run is retried", async () => {
    const producer = testClient(database);
    const job = await add.enqueue(producer, 1, { deadline: 0, queue: "unserved" });
    await testWorker(database, [add], { queues: { default: 5 } });
    expect((await job.wait()).state).toBe("failed");
    await job.retry();
    await testWorker(database, [add], { queues: { unserved: 1 } });
    expect(await job.result()).toBe(2);
  });

  it("that isn't one is a clear error, and nothing is written", async () => {
    const producer = testClient(database);
    const runs = async (): Promise<unknown> =>
      (await database.query("select count(*)::int as n from cyclone_runs")).rows;
    const before = await runs();
    for (const deadline of ["soon", "2030-01-01", -1, new Date(Number.NaN)]) {
      await expect(add.enqueue(producer, 1, { deadline })).rejects.toMatchObject({
        code: "CYCLONE_INVALID_OPTION",
        option: "deadline",
      });
    }
    expect(await runs()).toEqual(before);
  });
});
