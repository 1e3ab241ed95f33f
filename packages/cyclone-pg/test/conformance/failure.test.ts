import { describe, expect, it } from "vitest";
import { Discard, defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { attemptRows, statesOf, stepRow, stepRows } from "../support/engine-rows.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const bad = defineStep("bad", async (_ctx, message: string): Promise<number> => {
  throw new Discard(message);
});
const good = defineStep("good", async (_ctx, n: number) => n);
const act = defineAction("act", async (_ctx, _n: number) => {});
const handlers = [bad, good, act];

const runRow = async (id: string): Promise<Record<string, unknown>> => {
  const { rows } = await database.query("select * from cyclone_runs where id = $1", [id]);
  return rows[0] as Record<string, unknown>;
};

describe("a discarded node", () => {
  it("makes everything downstream of it cancelled, over data and order edges and at any distance", async () => {
    const calls: string[] = [];
    const note = defineStep("note", async (ctx, _n: number) => {
      calls.push(ctx.node);
      return 1;
    });
    const client = await testWorker(database, [...handlers, note]);
    const workflow = defineWorkflow("downstream", (b) => {
      const broken = bad.do(b, "broken");
      const near = note.do(b, broken, { name: "near" });
      const far = note.do(b, near, { name: "far" });
      note.do(b, 1, { name: "ordered", after: [broken] });
      note.do(b, 1, { name: "last", after: [far] });
    });
    const run = await workflow.submit(client);
    expect(await run.wait()).toMatchObject({ state: "failed" });
    expect(await statesOf(database, run.id)).toEqual({
      bad: "discarded",
      near: "cancelled",
      far: "cancelled",
      ordered: "cancelled",
      last: "cancelled",
    });
    for (const row of await stepRows(database, run.id)) expect(row.finished_at, row.node).toBeInstanceOf(Date);
    expect(calls).toEqual([]);
  });

  it("lets independent branches go on to their end, and only then the run has failed", async () => {
    const gate = latch();
    const held = defineStep("held", async () => {
      await gate.opened;
      return 1;
    });
    const client = await testWorker(database, [...handlers, held]);
    const workflow = defineWorkflow("branches", (b) => {
      act.do(b, bad.do(b, "broken"));
      const first = held.do(b);
      good.do(b, good.do(b, first), { name: "last" });
    });
    const run = await workflow.submit(client);
    const failed = eventsOf(client, "step.discarded");
    while (failed.length === 0) await new Promise((resolve) => client.on("step.discarded", resolve));
    expect(await run.state()).toBe("running");
    gate.open();
    expect(await run.wait()).toMatchObject({ state: "failed" });
    expect(await statesOf(database, run.id)).toEqual({
      bad: "discarded",
      act: "cancelled",
      held: "completed",
      good: "completed",
      last: "completed",
    });
  });

  it("cancels a join though another upstream of it completes, before or after", async () => {
    for (const order of ["discard first", "complete first"]) {
      const [discard, complete] = [latch(), latch()];
      const fails = defineStep("join-fails", async () => {
        await discard.opened;
        throw new Discard("no");
      });
      const passes = defineStep("join-passes", async () => complete.opened);
      const join = defineStep("join", async () => {});
      const client = await testWorker(database, [fails, passes, join]);
      const run = await defineWorkflow("joins", (b) => {
        join.do(b, undefined, { after: [fails.do(b), passes.do(b)] });
      }).submit(client);
      const [first, second] = order === "discard first" ? [discard, complete] : [complete, discard];
      const once = new Promise((resolve) => {
        client.on("step.discarded", resolve);
        client.on("step.completed", resolve);
      });
      first.open();
      await once;
      second.open();
      expect(await run.wait(), order).toMatchObject({ state: "failed" });
      expect(await statesOf(database, run.id), order).toEqual({
        "join-fails": "discarded",
        "join-passes": "completed",
        join: "cancelled",
      });
      await client.stop();
    }
  });

  it("is charged and recorded as an attempt, with its error in the row", async () => {
    const client = await testWorker(database, handlers);
    const job = await bad.enqueue(client, "no luck");
    await job.wait();
    expect(await stepRow(database, job.id)).toMatchObject({
      state: "discarded",
      attempts: 1,
      lease_owner: null,
      lease_expiry: null,
      error: { name: "Discard", message: "no luck" },
    });
    expect(await attemptRows(database, job.id)).toEqual([
      expect.objectContaining({
        attempt: 1,
        epoch: 1,
        outcome: "discarded",
        error: expect.objectContaining({ message: "no luck" }),
      }),
    ]);
  });
});

describe("a failed run", () => {
  it("has the first error, with its node's name, and the number of discarded nodes", async () => {
    const second = latch();
    const early = defineStep("early", async () => {
      throw new Discard("the first");
    });
    const late = defineStep("late", async () => {
      await second.opened;
      throw new Discard("the second");
    });
    const client = await testWorker(database, [...handlers, early, late]);
    const workflow = defineWorkflow("twice-failed", (b) => {
      late.do(b);
      early.do(b);
      good.do(b, 1);
    });
    const run = await workflow.submit(client);
    client.on("step.discarded", ({ node }) => {
      if (node === "early") second.open();
    });
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "the first", node: "early" } });
    expect(await runRow(run.id)).toMatchObject({ state: "failed", failed: 2, remaining: 0 });
  });

  it("stays failed: no later claim or completion touches it", async () => {
    const client = await testWorker(database, handlers);
    const run = await defineWorkflow("stays", (b) => good.do(b, bad.do(b, "x"))).submit(client);
    await run.wait();
    const before = [await runRow(run.id), await stepRows(database, run.id)];
    await (await good.enqueue(client, 1)).result();
    await client.drain();
    expect([await runRow(run.id), await stepRows(database, run.id)]).toEqual(before);
  });

  it("of three hundred branches with one bad one leaves no node that could still proceed", async () => {
    const client = await testWorker(database, handlers, { concurrency: 50 });
    const workflow = defineWorkflow("wide", (b) => {
      const ends = Array.from({ length: 300 }, (_, i) => {
        const start = i === 123 ? bad.do(b, "the one") : good.do(b, i);
        return good.do(b, good.do(b, start));
      });
      good.do(b, 0, { name: "join", after: ends });
    });
    const run = await workflow.submit(client);
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "the one" } });
    const { rows } = await database.query(
      "select state, count(*)::int as count from cyclone_steps where run_id = $1 group by state order by count",
      [run.id],
    );
    expect(rows).toEqual([
      { state: "discarded", count: 1 },
      { state: "cancelled", count: 3 },
      { state: "completed", count: 897 },
    ]);
  });
});

describe("a handler's error", () => {
  it("of one node hurts no neighbour that ends in the same moment", async () => {
    const gate = latch();
    const both = defineStep("both", async (_ctx, n: number) => {
      await gate.opened;
      if (n % 3 === 0) throw new Discard(`bad ${n}`);
      return n;
    });
    const client = await testWorker(database, [both], { concurrency: 60 });
    const jobs = await both.enqueueMany(
      client,
      Array.from({ length: 60 }, (_, n) => n),
    );
    gate.open();
    const ends = await Promise.all(jobs.map((job) => job.wait()));
    expect(ends.map((end) => end.state)).toEqual(jobs.map((_, n) => (n % 3 === 0 ? "failed" : "completed")));
  });
});

it("a workflow completes only when its last node has, whichever that is", async () => {
  const gate = latch();
  const slow = defineAction("slow", async () => gate.opened);
  const client = testClient(database, { handlers: [good, slow] });
  await client.start();
  const workflow = defineWorkflow("result-first", (b) => {
    slow.do(b);
    return good.do(b, 5);
  });
  const run = await workflow.submit(client);
  await new Promise((resolve) => client.on("step.completed", resolve));
  expect(await run.node("good").output()).toBe(5);
  await expect(run.output()).rejects.toMatchObject({ state: "running" });
  gate.open();
  expect(await run.result()).toBe(5);
});
