import { describe, expect, it } from "vitest";
import { type Builder, defineStep, defineWorkflow, type Registrable, type Step } from "../../src/index.ts";
import { stepRows } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { openStage } from "../support/stage.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Steps that write down the order in which they are called; all of a run are in one bucket, so that their order is strict. */
function recorders(...names: string[]): { readonly calls: string[]; readonly steps: Step<void, void>[] } {
  const calls: string[] = [];
  const steps = names.map((name) => defineStep(name, (ctx) => void calls.push(ctx.node)));
  return { calls, steps };
}

/** Submits one run, changes its rows so that they say when each became available, and lets one slot work it off. */
async function runOneAfterTheOther(
  name: string,
  handlers: readonly Registrable[],
  build: (b: Builder) => void,
  minutesAgo: Readonly<Record<string, number>> = {},
): Promise<void> {
  const producer = testClient(database);
  const run = await defineWorkflow(name, build).submit(producer);
  for (const [node, minutes] of Object.entries(minutesAgo)) {
    await database.query(
      "update cyclone_steps set available_at = statement_timestamp() - $3::int * interval '1 minute' where run_id = $1 and node = $2",
      [run.id, node, minutes],
    );
  }
  await testWorker(database, handlers, { concurrency: 1 });
  await run.wait();
}

describe("within a queue", () => {
  it("the higher priority is claimed first", async () => {
    const { calls, steps } = recorders("by-priority");
    const [step] = steps as [Step<void, void>];
    await runOneAfterTheOther("by-priority", steps, (b) => {
      for (const priority of [0, 5, -3, 32_767, -32_768, 1]) step.do(b, undefined, { name: `p${priority}`, priority });
    });
    expect(calls).toEqual(["p32767", "p5", "p1", "p0", "p-3", "p-32768"]);
  });

  it("of equal priorities the one that has been available longest is claimed first", async () => {
    const { calls, steps } = recorders("by-age");
    const [step] = steps as [Step<void, void>];
    const ages = { a: 3, b: 9, c: 1, d: 27, e: 2 };
    await runOneAfterTheOther(
      "by-age",
      steps,
      (b) => {
        for (const name of Object.keys(ages)) step.do(b, undefined, { name });
      },
      ages,
    );
    expect(calls).toEqual(["d", "b", "a", "e", "c"]);
  });

  it("priority goes before age", async () => {
    const { calls, steps } = recorders("priority-and-age");
    const [step] = steps as [Step<void, void>];
    await runOneAfterTheOther(
      "priority-and-age",
      steps,
      (b) => {
        step.do(b, undefined, { name: "old" });
        step.do(b, undefined, { name: "urgent", priority: 1 });
        step.do(b, undefined, { name: "older" });
        step.do(b, undefined, { name: "old-urgent", priority: 1 });
      },
      { old: 50, older: 60, urgent: 1, "old-urgent": 2 },
    );
    expect(calls).toEqual(["old-urgent", "urgent", "older", "old"]);
  });

  it("the order holds over steps of different names", async () => {
    const { calls, steps } = recorders("name-a", "name-b", "name-c");
    const [a, b, c] = steps as [Step<void, void>, Step<void, void>, Step<void, void>];
    await runOneAfterTheOther(
      "over-names",
      steps,
      (builder) => {
        for (let i = 0; i < 4; i++) {
          a.do(builder, undefined, { name: `a${i}`, priority: i });
          b.do(builder, undefined, { name: `b${i}`, priority: i });
          c.do(builder, undefined, { name: `c${i}`, priority: i });
        }
      },
      { a0: 1, b0: 3, c0: 2, a1: 2, b1: 1, c1: 3, a2: 3, b2: 2, c2: 1, a3: 1, b3: 2, c3: 3 },
    );
    expect(calls).toEqual(["c3", "b3", "a3", "a2", "b2", "c2", "c1", "a1", "b1", "b0", "c0", "a0"]);
  });

  it("a batch takes the queue's best over all its steps, not a share of each", async () => {
    const gate = latch();
    const urgent = defineStep("batch-urgent", async () => gate.opened);
    const idle = defineStep("batch-idle", async () => gate.opened);
    const producer = testClient(database);
    const run = await defineWorkflow("batch", (b) => {
      for (let i = 0; i < 8; i++) urgent.do(b, undefined, { priority: 5 });
      for (let i = 0; i < 8; i++) idle.do(b);
    }).submit(producer);
    await testWorker(database, [urgent, idle], { concurrency: 10 });
    const running = await eventually(async () => {
      const rows = (await stepRows(database, run.id)).filter((row) => row.state === "running");
      expect(rows).toHaveLength(10);
      return rows;
    });
    expect(running.filter((row) => row.step === "batch-urgent")).toHaveLength(8);
    expect(running.filter((row) => row.step === "batch-idle")).toHaveLength(2);
    gate.open();
    await run.wait();
  });

  it("a step that became available by its upstream's completion takes its place by priority", async () => {
    const { calls, steps } = recorders("activated");
    const [step] = steps as [Step<void, void>];
    await runOneAfterTheOther("activated", steps, (b) => {
      const first = step.do(b, undefined, { name: "first", priority: 9 });
      for (let i = 0; i < 30; i++) step.do(b, undefined, { name: `waits${i}` });
      step.do(b, undefined, { name: "follows", priority: 5, after: [first] });
    });
    // While the first one's completion is on its way its slot takes the next: a few, not all of those that wait.
    expect(calls[0]).toBe("first");
    expect(calls.indexOf("follows")).toBeLessThan(10);
  });
});

describe("between queues", () => {
  it("free slots are shared round robin, so that a full queue doesn't starve another", async () => {
    const calls: string[] = [];
    const crowded = defineStep("crowded", { queue: "crowded" }, (ctx) => void calls.push(ctx.node));
    const small = defineStep("small", { queue: "small" }, (ctx) => void calls.push(ctx.node));
    const producer = testClient(database);
    const run = await defineWorkflow("two-queues", (b) => {
      for (let i = 0; i < 60; i++) crowded.do(b, undefined, { priority: 100 });
      for (let i = 0; i < 6; i++) small.do(b);
    }).submit(producer);
    await testWorker(database, [crowded, small], { concurrency: 2 });
    await run.wait();
    const lastSmall = calls.findLastIndex((node) => node.startsWith("small"));
    expect(calls).toHaveLength(66);
    // Each takes every other slot as long as both have work.
    expect(lastSmall).toBeLessThan(20);
  });

  it("one slot alternates between them", async () => {
    const calls: string[] = [];
    const left = defineStep("alternate-left", { queue: "left" }, () => void calls.push("left"));
    const right = defineStep("alternate-right", { queue: "right" }, () => void calls.push("right"));
    const producer = testClient(database);
    const run = await defineWorkflow("alternate", (b) => {
      for (let i = 0; i < 20; i++) left.do(b);
      for (let i = 0; i < 5; i++) right.do(b);
    }).submit(producer);
    await testWorker(database, [left, right], { concurrency: 1 });
    await run.wait();
    expect(calls.lastIndexOf("right")).toBeLessThan(16);
  });

  it("a queue without work leaves its share to the others", async () => {
    const gate = latch();
    const busy = defineStep("busy", { queue: "busy" }, async () => gate.opened);
    const idle = defineStep("idle", { queue: "idle" }, async () => gate.opened);
    const producer = testClient(database);
    const run = await defineWorkflow("busy", (b) => {
      for (let i = 0; i < 12; i++) busy.do(b);
    }).submit(producer);
    await testWorker(database, [busy, idle], { concurrency: 10 });
    await eventually(async () => {
      const states = (await stepRows(database, run.id)).map((row) => row.state);
      expect(states.filter((state) => state === "running")).toHaveLength(10);
    });
    gate.open();
    await run.wait();
  });
});

describe("a step that this worker has no handler for", () => {
  it("is left alone, and hides no step behind it", async () => {
    const { calls, steps } = recorders("known");
    const [known] = steps as [Step<void, void>];
    const unknown = defineStep("unknown", async () => {});
    const producer = testClient(database);
    await defineWorkflow("flood", (b) => {
      for (let i = 0; i < 300; i++) unknown.do(b, undefined, { priority: 1_000 });
    }).submit(producer);
    const run = await defineWorkflow("behind", (b) => void known.do(b)).submit(producer);
    const worker = await testWorker(database, [known]);
    await run.result();
    await worker.drain();
    expect(calls).toEqual(["known"]);
    const { rows } = await database.query(
      "select distinct state, attempts, lease_epoch, reclaims from cyclone_steps where step = 'unknown'",
    );
    expect(rows).toEqual([{ state: "available", attempts: 0, lease_epoch: 0, reclaims: 0 }]);
  });

  it("waits for a worker that has it", async () => {
    const first = defineStep("on-one", async () => 1);
    const second = defineStep("on-another", async (_ctx, n: number) => n + 1);
    const split = defineWorkflow("split", (b) => second.do(b, first.do(b)));
    const producer = testClient(database);
    const run = await split.submit(producer);
    await testWorker(database, [first]);
    await eventually(async () =>
      expect((await stepRows(database, run.id)).map((row) => row.state)).toEqual(["completed", "available"]),
    );
    await testWorker(database, [second]);
    expect(await run.result()).toBe(2);
  });
});

describe("a claim", () => {
  it("takes a row of a step that came with another queue than its own, if the worker serves that queue", async () => {
    const { calls, steps } = recorders("elsewhere");
    const [step] = steps as [Step<void, void>];
    const producer = testClient(database);
    const job = await step.enqueue(producer, undefined, { queue: "special" });
    const plain = await testWorker(database, steps);
    await plain.drain();
    expect(calls).toEqual([]);
    await testWorker(database, steps, { queues: { special: 1 } });
    await job.result();
    expect(calls).toEqual(["elsewhere"]);
  });

  it("counts upwards in the row, by one for each", async () => {
    const flaky = defineStep("counted", { backoff: 1 }, (ctx) => {
      if (ctx.attempt < 4) throw new Error("not yet");
    });
    const client = await testWorker(database, [flaky]);
    const job = await flaky.enqueue(client);
    await job.result();
    expect(await stepRows(database, job.id)).toEqual([expect.objectContaining({ lease_epoch: 4, attempts: 4 })]);
  });

  it("never waits for a row that somebody has locked: it takes the next", async () => {
    const { calls, steps } = recorders("locked");
    const [step] = steps as [Step<void, void>];
    const producer = testClient(database);
    const run = await defineWorkflow("locked", (b) => {
      step.do(b, undefined, { name: "first", priority: 9 });
      step.do(b, undefined, { name: "second" });
    }).submit(producer);
    await using stage = await openStage(database.url, ["holder"]);
    const { holder } = stage.sessions;
    await holder.query("begin");
    await holder.query("select 1 from cyclone_steps where run_id = $1 and node = 'first' for update", [run.id]);
    await testWorker(database, steps, { concurrency: 1 });
    await eventually(() => expect(calls).toEqual(["second"]));
    await holder.query("commit");
    await run.wait();
    expect(calls).toEqual(["second", "first"]);
  });

  it("of several workers for the same rows is won by one: each step is called once, by one of them", async () => {
    const callsBy = new Map<string, number[]>();
    const worker = async (name: string) => {
      const work = defineStep("contended", async (_ctx, n: number) => {
        callsBy.set(name, [...(callsBy.get(name) ?? []), n]);
      });
      return testWorker(database, [work], { concurrency: 25 });
    };
    const contract = defineStep<number>("contended");
    const producer = testClient(database);
    const workers = await Promise.all(["a", "b", "c"].map(worker));
    const jobs = await contract.enqueueMany(
      producer,
      Array.from({ length: 400 }, (_, n) => n),
    );
    await Promise.all(jobs.map((job) => job.wait()));
    const calls = [...callsBy.values()].flat().sort((x, y) => x - y);
    expect(calls).toEqual(jobs.map((_, n) => n));
    const { rows } = await database.query(
      "select distinct lease_epoch, attempts, reclaims from cyclone_steps where step = 'contended'",
    );
    expect(rows).toEqual([{ lease_epoch: 1, attempts: 1, reclaims: 0 }]);
    await Promise.all(workers.map((one) => one.stop()));
  });

  it("of a row that changed its state after it was looked at changes nothing: only available rows are taken", async () => {
    const { calls, steps } = recorders("guarded");
    const [step] = steps as [Step<void, void>];
    const producer = testClient(database);
    const job = await step.enqueue(producer);
    await using stage = await openStage(database.url, ["rival"]);
    const { rival } = stage.sessions;
    // The rival takes it first, in a transaction that the worker's claim can't see yet.
    await rival.query("begin");
    await rival.query(
      `update cyclone_steps set state = 'running', lease_epoch = 1, lease_owner = gen_random_uuid(), started_at = now(),
         lease_expiry = now() + interval '1 hour' where run_id = $1`,
      [job.id],
    );
    const client = await testWorker(database, steps);
    await (await step.enqueue(client, undefined, { tags: ["another"] })).wait();
    await rival.query("commit");
    await (await step.enqueue(client, undefined, { tags: ["a third"] })).wait();
    expect(calls).toEqual(["guarded", "guarded"]);
    expect(await stepRows(database, job.id)).toEqual([expect.objectContaining({ state: "running", lease_epoch: 1 })]);
  });
});
