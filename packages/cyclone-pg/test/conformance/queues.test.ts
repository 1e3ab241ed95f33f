import { describe, expect, it } from "vitest";
import { type Client, defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { openStage } from "../support/stage.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** A step in a queue of its own name, which writes down its calls. */
function recorder(name: string) {
  const calls: string[] = [];
  return { calls, step: defineStep(name, { queue: name }, (ctx) => void calls.push(ctx.runId)) };
}

const infoOf = async (client: Client, name: string) =>
  (await client.queues.list()).find((queue) => queue.name === name);

describe("a paused queue", () => {
  it("is claimed from by nobody, while other queues go on", async () => {
    const [held, other] = [recorder("held"), recorder("other")];
    const workers = [await testWorker(database, [held.step, other.step]), await testWorker(database, [held.step])];
    const producer = testClient(database);
    await producer.queues.pause("held");
    const jobs = await held.step.enqueueMany(producer, [undefined, undefined, undefined]);
    // Each worker polls and claims several times meanwhile.
    for (let i = 0; i < 3; i++) await (await other.step.enqueue(producer)).result();
    await Promise.all(workers.map((worker) => worker.drain()));
    expect(held.calls).toEqual([]);
    for (const job of jobs)
      expect(await stepRow(database, job.id)).toMatchObject({ state: "available", lease_epoch: 0 });
    await producer.queues.resume("held");
    await Promise.all(jobs.map((job) => job.result()));
    expect([...held.calls].sort()).toEqual(jobs.map((job) => job.id).sort());
  });

  it("lets running steps go on, and holds back what follows from them in it", async () => {
    const gate = latch();
    const first = defineStep("goes-on", { queue: "lines" }, async () => gate.opened);
    const second = defineStep("follows", { queue: "lines" }, async () => "done");
    const line = defineWorkflow("line", (b) => second.do(b, undefined, { after: [first.do(b)] }));
    const worker = await testWorker(database, [first, second]);
    const run = await line.submit(worker);
    await eventually(async () => expect(await run.node("goes-on").state()).toBe("running"));
    await worker.queues.pause("lines");
    gate.open();
    await worker.drain();
    expect(await run.node("goes-on").state()).toBe("completed");
    expect(await run.node("follows").state()).toBe("available");
    await worker.queues.resume("lines");
    expect(await run.result()).toBe("done");
  });

  it("holds back retries, and what becomes due, as well", async () => {
    const flaky = defineStep("flaky", { queue: "flaky", backoff: 1 }, (ctx) => {
      if (ctx.attempt < 2) throw new Error("not yet");
    });
    const worker = await testWorker(database, [flaky]);
    const failed = new Promise((resolve) => worker.on("step.failed", resolve));
    await flaky.enqueue(worker, undefined, { delay: 1 });
    await failed;
    await worker.queues.pause("flaky");
    const job = await flaky.enqueue(worker, undefined, { delay: 1 });
    await eventually(async () => expect(await stepRow(database, job.id)).toMatchObject({ state: "available" }));
    await worker.drain();
    expect(await stepRow(database, job.id)).toMatchObject({ state: "available", lease_epoch: 0 });
    await worker.queues.resume("flaky");
    await job.result();
  });

  it("stays paused for workers that start later, and may be paused before anybody knows it", async () => {
    const { calls, step } = recorder("unborn");
    const producer = testClient(database);
    await producer.queues.pause("unborn");
    await producer.queues.pause("unborn");
    expect(await infoOf(producer, "unborn")).toMatchObject({ paused: true, available: 0 });
    const job = await step.enqueue(producer);
    const worker = await testWorker(database, [step]);
    await worker.drain();
    expect(calls).toEqual([]);
    await producer.queues.resume("unborn");
    await producer.queues.resume("unborn");
    await job.result();
  });

  it("wakes the workers when it is resumed", async () => {
    const { step } = recorder("woken");
    const worker = await testWorker(database, [step], { pollInterval: "1h" });
    const producer = testClient(database);
    await producer.queues.pause("woken");
    const jobs = await step.enqueueMany(producer, [undefined, undefined]);
    await worker.drain();
    await producer.queues.resume("woken");
    await Promise.all(jobs.map((job) => job.result()));
  });

  it("costs an idle worker no claim: it isn't seen as something to do", async () => {
    const { step } = recorder("idle");
    const producer = testClient(database);
    await producer.queues.pause("idle");
    await step.enqueue(producer);
    const worker = await testWorker(database, [step]);
    // It would never end if the paused step counted as available.
    await worker.drain({ timeout: "20s" });
  });
});

describe("pause()", () => {
  /** Lets each claim's update of a row wait for a lock, as one does that is slow. */
  async function slowClaims(): Promise<void> {
    await database.query(`create function slow_claim() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(42); return new; end $$`);
    await database.query(`create trigger slow_claim before update on cyclone_steps for each row
      when (old.state = 'available' and new.state = 'running') execute function slow_claim()`);
  }
  const fastClaims = () => database.query("drop function slow_claim cascade");

  /** Resolves when somebody has asked twice which claims are under way: the first answer wasn't "none". */
  async function waitsForClaims(): Promise<void> {
    const seen = new Set<string>();
    await eventually(async () => {
      const { rows } = await database.query<{ at: string }>(
        "select query_start::text as at from pg_stat_activity where datname = current_database() and query like '/* cyclone:find_claiming */%'",
      );
      for (const row of rows) seen.add(row.at);
      expect(seen.size).toBeGreaterThan(1);
    });
  }

  it("returns only when a claim that can't have seen it has ended", async () => {
    const { step, calls } = recorder("racing");
    const producer = testClient(database);
    const jobs = await step.enqueueMany(producer, [undefined, undefined]);
    await slowClaims();
    await using stage = await openStage(database.url, ["brake"]);
    const { brake } = stage.sessions;
    await brake.query("select pg_advisory_lock(42)");
    const worker = await testWorker(database, [step], { concurrency: 1 });
    await stage.waitForLock({ statement: "claim_steps" }, { heldBy: brake });
    let returned = false;
    const pausing = producer.queues.pause("racing").finally(() => {
      returned = true;
    });
    await waitsForClaims();
    expect(returned).toBe(false);
    expect(await infoOf(producer, "racing")).toMatchObject({ paused: true, available: 2, running: 0 });
    await brake.query("select pg_advisory_unlock(42)");
    await pausing;
    // What that claim took is running or done by now; nothing is taken after it.
    const claimed = async (): Promise<number> =>
      (await Promise.all(jobs.map((job) => stepRow(database, job.id)))).filter((row) => row.lease_epoch > 0).length;
    expect(await claimed()).toBe(1);
    await worker.drain();
    expect(await claimed()).toBe(1);
    expect(calls).toHaveLength(1);
    await fastClaims();
    await producer.queues.resume("racing");
    await Promise.all(jobs.map((job) => job.result()));
  });

  it("gives up after its timeout, says so, and the queue is paused all the same", async () => {
    const { step } = recorder("stuck");
    const producer = testClient(database);
    const job = await step.enqueue(producer);
    await slowClaims();
    await using stage = await openStage(database.url, ["brake"]);
    const { brake } = stage.sessions;
    await brake.query("select pg_advisory_lock(42)");
    await testWorker(database, [step]);
    await stage.waitForLock({ statement: "claim_steps" }, { heldBy: brake });
    await expect(producer.queues.pause("stuck", { timeout: 50 })).rejects.toMatchObject({
      code: "CYCLONE_PAUSE_TIMEOUT",
      queue: "stuck",
      timeoutMs: 50,
    });
    expect(await infoOf(producer, "stuck")).toMatchObject({ paused: true });
    await brake.query("select pg_advisory_unlock(42)");
    await producer.queues.pause("stuck");
    await fastClaims();
    await job.result();
  });

  it("waits for no transaction that only submits, or only reads", async () => {
    const { step } = recorder("submitting");
    const producer = testClient(database);
    await using stage = await openStage(database.url, ["submitter", "reader"]);
    const { submitter, reader } = stage.sessions;
    await submitter.query("begin");
    await step.enqueue(producer, undefined, { tx: { query: (text, values) => submitter.query(text, values) } });
    await reader.query("begin");
    await reader.query("select count(*) from cyclone_queues");
    await reader.query("select count(*) from cyclone_steps");
    await producer.queues.pause("submitting", { timeout: 0 });
    await submitter.query("commit");
    await reader.query("commit");
    expect(await infoOf(producer, "submitting")).toMatchObject({ paused: true, available: 1 });
  });

  it.each([[""], ["a\u0000b"], [5], ["x".repeat(201)]])("refuses what no queue can be called: %j", async (name) => {
    const nowhere = testClient({ url: "postgres://postgres@127.0.0.1:1/none" });
    const refused = { code: "CYCLONE_INVALID_OPTION", option: "queue" };
    await expect(nowhere.queues.pause(name as string)).rejects.toMatchObject(refused);
    await expect(nowhere.queues.resume(name as string)).rejects.toMatchObject(refused);
  });

  it("refuses an unknown option, and everything once the client has stopped", async () => {
    const client = testClient(database);
    await expect(client.queues.pause("any", { timeut: 5 } as object)).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      message: expect.stringContaining('"timeout"'),
    });
    await client.stop();
    const reads = [
      () => client.queues.pause("any"),
      () => client.queues.resume("any"),
      () => client.queues.list(),
      () => client.runs.list(),
      () => client.stats(),
    ];
    for (const read of reads)
      await expect(read(), String(read)).rejects.toMatchObject({ code: "CYCLONE_CLIENT_STOPPED" });
  });
});
