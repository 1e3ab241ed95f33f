import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow, type Run } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, recordingLog, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const brief = { leaseTtl: "2s" } as const;

/** Claims a job as a worker does that dies at once: running, under a lease that has run out. */
async function leaveByDeadWorker(run: Run<unknown>, reclaims = 0): Promise<string> {
  const owner = randomUUID();
  const { rowCount } = await database.query(
    `update cyclone_steps set state = 'running', lease_epoch = lease_epoch + 1, lease_owner = $2, reclaims = $3,
       lease_expiry = statement_timestamp() - interval '1 second', started_at = statement_timestamp() - interval '9 seconds'
     where run_id = $1 and state = 'available'`,
    [run.id, owner, reclaims],
  );
  expect(rowCount).toBe(1);
  return owner;
}

describe("a step whose lease has run out", () => {
  it("is reclaimed by any worker's sweep, and called again from the start, without a charge or a backoff", async () => {
    const seen: object[] = [];
    const work = defineStep("work", { maxAttempts: 1, backoff: "1h" }, async (ctx) => {
      seen.push({ attempt: ctx.attempt, reclaims: ctx.reclaims, key: ctx.idempotencyKey });
      return "done";
    });
    const job = await work.enqueue(testClient(database));
    const owner = await leaveByDeadWorker(job);
    const client = await testWorker(database, [work], brief);
    const reclaimed = eventsOf(client, "step.reclaimed");
    expect(await job.result()).toBe("done");
    expect(seen).toEqual([{ attempt: 1, reclaims: 1, key: `${job.id}/work` }]);
    expect(await stepRow(database, job.id)).toMatchObject({
      state: "completed",
      attempts: 1,
      reclaims: 1,
      lease_epoch: 2,
    });
    expect(await attemptRows(database, job.id)).toEqual([
      expect.objectContaining({ outcome: "reclaimed", attempt: 1, epoch: 1, error: null }),
    ]);
    const { rows } = await database.query("select worker from cyclone_attempts where run_id = $1", [job.id]);
    expect(rows).toEqual([{ worker: owner }]);
    expect(reclaimed).toEqual([{ runId: job.id, node: "work", step: "work", attempt: 1, reclaims: 1 }]);
  });

  it("is reclaimed also by a worker that has no handler for it", async () => {
    const work = defineStep("for-others", async () => {});
    const job = await work.enqueue(testClient(database));
    await leaveByDeadWorker(job);
    await testWorker(database, [defineStep("stranger", async () => {})], brief);
    const row = await eventually(async () => {
      const found = await stepRow(database, job.id);
      expect(found.state).toBe("available");
      return found;
    });
    expect(row).toMatchObject({ attempts: 0, reclaims: 1, lease_owner: null, lease_expiry: null });
    expect(Number(row.available_at)).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it("that hasn't run out is left alone", async () => {
    const work = defineStep("alive", async () => {});
    const producer = testClient(database);
    const [alive, dead] = [await work.enqueue(producer, undefined, { queue: "nobody" }), await work.enqueue(producer)];
    await leaveByDeadWorker(alive);
    await database.query(
      "update cyclone_steps set lease_expiry = statement_timestamp() + interval '1 hour' where run_id = $1",
      [alive.id],
    );
    const before = await stepRow(database, alive.id);
    await leaveByDeadWorker(dead);
    await testWorker(database, [work], brief);
    await dead.result();
    expect(await stepRow(database, alive.id)).toEqual(before);
  });

  it("is called with the bound input again, also in the middle of a workflow", async () => {
    const give = defineStep("give", async () => ({ a: [1, 2] }));
    const take = defineStep("take", async (_ctx, n: number) => n * 10);
    const workflow = defineWorkflow("middle", (b) => take.do(b, give.do(b).get("a", 1) as never));
    const first = await testWorker(database, [give]);
    const run = await workflow.submit(testClient(database));
    await eventually(async () => expect((await stepRow(database, run.id, "take")).state).toBe("available"));
    await first.stop();
    await leaveByDeadWorker(run);
    await testWorker(database, [take], brief);
    expect(await run.result()).toBe(20);
  });
});

describe("maxReclaims", () => {
  it("allows so many reclaims; one more discards the step, with an error that says so, and its run fails", async () => {
    let calls = 0;
    const deadly = defineStep("deadly", { maxReclaims: 2 }, async () => {
      calls += 1;
    });
    const after = defineAction("after", async () => {});
    const workflow = defineWorkflow("deadly", (b) => void after.do(b, undefined, { after: [deadly.do(b)] }));
    const run = await workflow.submit(testClient(database));
    await leaveByDeadWorker(run, 2);
    const { log, lines } = recordingLog();
    const client = testClient(database, { handlers: [deadly, after], ...brief, log });
    const discarded = eventsOf(client, "step.discarded");
    await client.start();
    const error = { code: "CYCLONE_MAX_RECLAIMS", message: expect.stringContaining("maxReclaims"), node: "deadly" };
    expect(await run.wait()).toMatchObject({ state: "failed", error });
    expect(calls).toBe(0);
    expect(await stepRow(database, run.id)).toMatchObject({
      state: "discarded",
      attempts: 0,
      reclaims: 2,
      lease_owner: null,
    });
    expect((await stepRow(database, run.id, "after")).state).toBe("cancelled");
    expect((await attemptRows(database, run.id)).map((row) => row.outcome)).toEqual(["reclaimed"]);
    await client.drain();
    expect(discarded).toMatchObject([
      { runId: run.id, node: "deadly", step: "deadly", attempt: 1, error: { code: error.code } },
    ]);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([{ fields: { node: "deadly" } }]);
  });

  it("is 10 where nothing else is said: the tenth reclaim is allowed, the eleventh isn't", async () => {
    const work = defineStep("ten", async () => {});
    const producer = testClient(database);
    const [tenth, eleventh] = [await work.enqueue(producer), await work.enqueue(producer)];
    await leaveByDeadWorker(tenth, 9);
    await leaveByDeadWorker(eleventh, 10);
    await testWorker(database, [work], brief);
    expect((await tenth.wait()).state).toBe("completed");
    expect((await eleventh.wait()).state).toBe("failed");
  });

  it("of 0 discards at the first", async () => {
    const once = defineStep("once", { maxReclaims: 0 }, async () => {});
    const job = await once.enqueue(testClient(database));
    await leaveByDeadWorker(job);
    await testWorker(database, [once], brief);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_MAX_RECLAIMS" } });
  });

  it("of Infinity is stored as null and never ends the reclaims", async () => {
    const stubborn = defineStep("stubborn", { maxReclaims: Number.POSITIVE_INFINITY }, async () => {});
    const job = await stubborn.enqueue(testClient(database));
    expect((await stepRow(database, job.id)).max_reclaims).toBeNull();
    await leaveByDeadWorker(job, 1_000_000);
    await testWorker(database, [stubborn], brief);
    expect((await job.wait()).state).toBe("completed");
    expect((await stepRow(database, job.id)).reclaims).toBe(1_000_001);
  });

  it("counts since the last recorded outcome: a failure of the handler's begins the count anew", async () => {
    const work = defineStep("anew", { backoff: 1 }, async (ctx) => {
      if (ctx.attempt === 1) throw new Error("failed");
      return ctx.reclaims;
    });
    const job = await work.enqueue(testClient(database));
    await leaveByDeadWorker(job, 5);
    await testWorker(database, [work], brief);
    expect(await job.result()).toBe(0);
  });

  it("holds up no other work: what else is there goes on", async () => {
    const deadly = defineStep("deadly-too", { maxReclaims: 0 }, async () => {});
    const fine = defineStep("fine", async () => 1);
    const producer = testClient(database);
    const poisoned = await deadly.enqueueMany(producer, [undefined, undefined, undefined]);
    for (const job of poisoned) await leaveByDeadWorker(job);
    const client = await testWorker(database, [deadly, fine], brief);
    expect(await (await fine.enqueue(client)).result()).toBe(1);
    for (const job of poisoned) expect((await job.wait()).state).toBe("failed");
  });
});

describe("a lease", () => {
  it("is written by the claim: the client's id as owner, and leaseTtl from the database's clock", async () => {
    const gate = latch();
    const held = defineStep("held", async () => gate.opened);
    const client = await testWorker(database, [held], { leaseTtl: "20s" });
    const jobs = await held.enqueueMany(client, [undefined, undefined]);
    const rows = await eventually(async () => {
      const found = await Promise.all(jobs.map((job) => stepRow(database, job.id)));
      expect(found.map((row) => row.state)).toEqual(["running", "running"]);
      return found;
    });
    for (const row of rows) {
      expect(Number(row.lease_expiry) - Number(row.started_at)).toBe(20_000);
      expect(row.lease_owner).toBe(rows[0]?.lease_owner);
      expect(row.lease_epoch).toBe(1);
    }
    // Thirty seconds where nothing else is said, and another client's id.
    const plain = defineStep("held-by-default", async () => gate.opened);
    const other = await testWorker(database, [plain]);
    const third = await plain.enqueue(other);
    const row = await eventually(async () => {
      const found = await stepRow(database, third.id);
      expect(found.state).toBe("running");
      return found;
    });
    expect(Number(row.lease_expiry) - Number(row.started_at)).toBe(30_000);
    expect(row.lease_owner).not.toBe(rows[0]?.lease_owner);
    gate.open();
    await Promise.all([...jobs, third].map((job) => job.result()));
  });

  it("is renewed while the handler runs, for as long as that takes, and the step is called once", async () => {
    const gate = latch();
    let calls = 0;
    const long = defineStep("long", async () => {
      calls += 1;
      await gate.opened;
    });
    const client = await testWorker(database, [long], { leaseTtl: "1500ms" });
    await testWorker(database, [defineStep("sweeps-only", async () => {})], { leaseTtl: "1500ms" });
    const job = await long.enqueue(client);
    const first = await eventually(async () => {
      const row = await stepRow(database, job.id);
      expect(row.state).toBe("running");
      return row;
    });
    // Two leases later it is still the same claim, though another worker looks for expired ones all the time.
    await eventually(async () => {
      const row = await stepRow(database, job.id);
      expect(Number(row.lease_expiry)).toBeGreaterThan(Number(first.lease_expiry) + 3_000);
    });
    expect(await stepRow(database, job.id)).toMatchObject({ state: "running", lease_epoch: 1, reclaims: 0 });
    expect((await stepRow(database, job.id)).lease_owner).toBe(first.lease_owner);
    gate.open();
    await job.result();
    expect(calls).toBe(1);
  });

  it("is kept by a handler that computes without yielding, for several leases", async () => {
    let calls = 0;
    const busy = defineStep("busy", async () => {
      calls += 1;
      const until = performance.now() + 5_000;
      while (performance.now() < until) Math.sqrt(until);
      return "computed";
    });
    const other = defineStep("other", async () => {});
    const client = await testWorker(database, [busy, other], brief);
    const job = await busy.enqueue(client);
    expect(await job.result()).toBe("computed");
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(calls).toBe(1);
  });

  it("that ran out and that nobody reclaimed is renewed, and its step completes", async () => {
    const gate = latch();
    const late = defineStep("late", async () => {
      await gate.opened;
      return "late, and fine";
    });
    // The only worker: its sweep's guard and the renewal are both its own.
    const client = await testWorker(database, [late], { leaseTtl: "30s", pollInterval: "1h" });
    const job = await late.enqueue(client);
    await eventually(async () => expect((await stepRow(database, job.id)).state).toBe("running"));
    await database.query(
      "update cyclone_steps set lease_expiry = statement_timestamp() - interval '1 minute' where run_id = $1",
      [job.id],
    );
    gate.open();
    expect(await job.result()).toBe("late, and fine");
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0 });
  });
});

describe("a worker whose lease was lost", () => {
  it("can't complete the step any more: the late result is refused, and the newer call's stays", async () => {
    const gate = latch();
    let calls = 0;
    const twice = defineStep("twice", async () => {
      calls += 1;
      const call = calls;
      if (call === 1) await gate.opened;
      return call;
    });
    const zombie = await testWorker(database, [twice]);
    const lost = eventsOf(zombie, "lease.lost");
    const job = await twice.enqueue(testClient(database));
    await eventually(() => expect(calls).toBe(1));
    await database.query(
      "update cyclone_steps set lease_expiry = statement_timestamp() - interval '1 second' where run_id = $1",
      [job.id],
    );
    const saviour = await testWorker(database, [twice], { ...brief, queues: { default: 1 } });
    expect(await job.result()).toBe(2);
    gate.open();
    await eventually(() => expect(lost).toEqual([{ runId: job.id, node: "twice", step: "twice", attempt: 1 }]));
    expect(await stepRow(database, job.id)).toMatchObject({ output: 2, attempts: 1, reclaims: 1, lease_epoch: 2 });
    await saviour.stop();
  });

  it("can't complete, fail, snooze or discard it while another one has it", async () => {
    const { Snooze, Discard } = await import("../../src/index.ts");
    const ends = {
      complete: () => undefined,
      fail: () => new Error("late"),
      snooze: () => new Snooze("1h"),
      discard: () => new Discard("late"),
    };
    const gate = latch();
    let started = 0;
    const work = defineStep("late-end", { backoff: "1h" }, async (_ctx, how: keyof typeof ends) => {
      started += 1;
      await gate.opened;
      const thrown = ends[how]();
      if (thrown !== undefined) throw thrown;
    });
    const zombie = await testWorker(database, [work]);
    const lost = eventsOf(zombie, "lease.lost");
    const jobs = await work.enqueueMany(testClient(database), ["complete", "fail", "snooze", "discard"]);
    await eventually(() => expect(started).toBe(4));
    await database.query("update cyclone_steps set lease_epoch = lease_epoch + 1 where step = 'late-end'");
    const before = await Promise.all(jobs.map((job) => stepRow(database, job.id)));
    gate.open();
    await eventually(() => expect(lost).toHaveLength(4));
    expect(await Promise.all(jobs.map((job) => stepRow(database, job.id)))).toEqual(before);
    expect((await Promise.all(jobs.map((job) => attemptRows(database, job.id)))).flat()).toEqual([]);
  });

  it("is told by the handler's signal, within a heartbeat, and goes on with other work", async () => {
    const seen = latch<unknown>();
    const listens = defineStep("listens", async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      seen.open(ctx.signal.reason);
    });
    const other = defineStep("other-work", async () => "fine");
    const client = await testWorker(database, [listens, other], brief);
    const job = await listens.enqueue(client);
    await eventually(async () => expect((await stepRow(database, job.id)).state).toBe("running"));
    await database.query("update cyclone_steps set lease_epoch = lease_epoch + 1 where run_id = $1", [job.id]);
    expect(await seen.opened).toMatchObject({ code: "CYCLONE_LEASE_LOST" });
    expect(await (await other.enqueue(client)).result()).toBe("fine");
  });
});
