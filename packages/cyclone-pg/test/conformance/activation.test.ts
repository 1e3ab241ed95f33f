import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { statesOf, stepRow, stepRows } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { openStage } from "../support/stage.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const note = defineStep("note", async (_ctx, n: number) => n);
const effect = defineAction("effect", async (ctx, _n: number) => {
  await (await ctx.completionTx()).query("select 1");
});
const join = defineStep("join", async () => "joined");

describe("a node with several upstreams", () => {
  it("starts once, when the last of them has completed, and never before", async () => {
    const gates = [latch(), latch(), latch()];
    const held = defineStep("held", async (_ctx, i: number) => gates[i]?.opened);
    const calls: string[] = [];
    const end = defineStep("end", (ctx) => void calls.push(ctx.node));
    const client = await testWorker(database, [held, end]);
    const done = eventsOf(client, "step.completed");
    const run = await defineWorkflow("fan-in", (b) => {
      end.do(b, undefined, { after: [0, 1, 2].map((i) => held.do(b, i)) });
    }).submit(client);
    for (const [i, expected] of [
      [2, 2],
      [0, 1],
    ] as const) {
      gates[i]?.open();
      await eventually(async () => expect((await stepRow(database, run.id, "end")).pending).toBe(expected));
      expect((await stepRow(database, run.id, "end")).state).toBe("pending");
    }
    expect(calls).toEqual([]);
    gates[1]?.open();
    await run.result();
    expect(calls).toEqual(["end"]);
    await eventually(() => expect(done.map(({ node }) => node)).toHaveLength(4));
  });

  it("starts once though hundreds of them complete at the same time in several workers", async () => {
    let joined = 0;
    const ends = defineStep("ends", async () => {
      joined += 1;
    });
    const workers = await Promise.all(
      [1, 2, 3].map(() => testWorker(database, [note, effect, ends], { concurrency: 20 })),
    );
    const [client] = workers as [(typeof workers)[0]];
    const ended = workers.map((worker) => eventsOf(worker, "run.completed"));
    const run = await defineWorkflow("wide-fan-in", (b) => {
      const upstreams = Array.from({ length: 200 }, (_, i) => (i % 4 === 0 ? effect.do(b, i) : note.do(b, i)));
      ends.do(b, undefined, { after: upstreams });
    }).submit(client);
    await run.result();
    expect(joined).toBe(1);
    await eventually(() => expect(ended.flat()).toEqual([{ runId: run.id, name: "wide-fan-in" }]));
    const rows = await stepRows(database, run.id);
    expect(rows.every((row) => row.state === "completed" && row.pending === 0 && row.unactivated === null)).toBe(true);
  });

  it("isn't stranded by two completions that overlap, in whichever order they commit", async () => {
    const run = await defineWorkflow("overlap", (b) => {
      join.do(b, undefined, { after: [note.do(b, 1), note.do(b, 2)] });
    }).submit(testClient(database));
    await using stage = await openStage(database.url, ["other"]);
    const { other } = stage.sessions;
    // Somebody holds the join's row: both completions come to it and wait, one behind the other.
    await other.query("begin");
    await other.query("select 1 from cyclone_steps where run_id = $1 and node = 'join' for update", [run.id]);
    const workers = await Promise.all(
      [1, 2].map(() => testWorker(database, [note, join], { concurrency: 1, leaseTtl: "10m" })),
    );
    await stage.waitForLock({ statement: "complete_steps" }, { heldBy: other });
    await other.query("commit");
    expect(await run.wait()).toMatchObject({ state: "completed" });
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});

describe("a completion in a completionTx", () => {
  it("doesn't wait for the join's row that a sibling's user transaction could hold", async () => {
    const gate = latch();
    const slow = defineAction("slow-sibling", async (ctx, i: number) => {
      const tx = await ctx.completionTx();
      await tx.query("select 1");
      if (i === 0) await gate.opened;
    });
    const client = await testWorker(database, [slow, join]);
    const run = await defineWorkflow("siblings", (b) => {
      join.do(b, undefined, { after: [0, 1, 2].map((i) => slow.do(b, i)) });
    }).submit(client);
    // Two siblings commit and are counted while the third one's transaction is still open.
    await eventually(async () => expect((await stepRow(database, run.id, "join")).pending).toBe(1));
    expect(await statesOf(database, run.id)).toEqual({
      "slow-sibling": "running",
      "slow-sibling-2": "completed",
      "slow-sibling-3": "completed",
      join: "pending",
    });
    gate.open();
    expect(await run.wait()).toMatchObject({ state: "completed" });
  });

  it("is committed, and marked as not yet activated, before what follows from it is written", async () => {
    const run = await defineWorkflow("marked", (b) => {
      join.do(b, undefined, { after: [effect.do(b, 1)] });
    }).submit(testClient(database));
    await using stage = await openStage(database.url, ["other"]);
    const { other } = stage.sessions;
    await other.query("begin");
    await other.query("select 1 from cyclone_steps where run_id = $1 and node = 'join' for update", [run.id]);
    await testWorker(database, [effect, join], { leaseTtl: "10m" });
    await stage.waitForLock({ statement: "complete_steps" }, { heldBy: other });
    // The join's row is held, and the completion is there all the same.
    expect(await stepRow(database, run.id)).toMatchObject({ state: "completed", unactivated: true, attempts: 1 });
    expect((await stepRow(database, run.id, "join")).state).toBe("pending");
    await other.query("commit");
    await run.wait();
    expect(await stepRow(database, run.id)).toMatchObject({ state: "completed", unactivated: null, attempts: 1 });
  });

  it("whose worker died before the activation is activated by any worker's sweep", async () => {
    const run = await defineWorkflow("missed", (b) => {
      const first = effect.do(b, 1);
      join.do(b, undefined, { after: [first] });
    }).submit(testClient(database));
    const alone = await effect.enqueue(testClient(database), 1);
    // What a completionTx leaves at its commit, and nothing else.
    const { rowCount } = await database.query(
      `update cyclone_steps set state = 'completed', unactivated = true, attempts = 1, lease_epoch = 1,
         finished_at = statement_timestamp() - interval '1 minute' where run_id = any ($1::uuid[]) and step = 'effect'`,
      [[run.id, alone.id]],
    );
    expect(rowCount).toBe(2);
    const stranger = await testWorker(database, [defineStep("stranger", async () => {})]);
    await eventually(async () => expect((await stepRow(database, run.id, "join")).state).toBe("available"));
    // A run whose last node it was ends by it.
    expect(await alone.wait()).toMatchObject({ state: "completed" });
    expect(await stepRow(database, run.id)).toMatchObject({ attempts: 1, unactivated: null });
    await testWorker(database, [join]);
    expect(await run.wait()).toMatchObject({ state: "completed" });
    await stranger.stop();
  });
});

describe("a node that stays completed though its activation fails", () => {
  it("holds up nobody, is reported once, and is activated as soon as somebody can", async () => {
    const client = await testWorker(database, [note, join]);
    const errors = eventsOf(client, "error");
    await database.query(
      "alter table cyclone_steps add constraint staged check (node <> 'blocked' or state in ('pending', 'running', 'completed'))",
    );
    const blocked = await defineWorkflow("poisoned", (b) => {
      join.do(b, undefined, { name: "blocked", after: [note.do(b, 1)] });
    }).submit(client);
    const others = await note.enqueueMany(
      client,
      Array.from({ length: 20 }, (_, n) => n),
    );
    expect(await Promise.all(others.map((job) => job.result()))).toHaveLength(20);
    await eventually(async () => {
      expect(await stepRow(database, blocked.id)).toMatchObject({ state: "completed", unactivated: true });
    });
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    expect(errors[0]?.error).toMatchObject({ code: "23514" });
    expect(await (await note.enqueue(client, 1)).result()).toBe(1);
    expect(errors).toHaveLength(1);
    await database.query("alter table cyclone_steps drop constraint staged");
    // The one that met the refusal tries again rarely; another one hasn't met it.
    await testWorker(database, [note, join]);
    expect(await blocked.wait()).toMatchObject({ state: "completed" });
  });
});
