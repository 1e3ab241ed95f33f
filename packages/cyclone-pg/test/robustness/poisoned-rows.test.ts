import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type Client,
  Discard,
  defineAction,
  defineStep,
  defineWorkflow,
  type Registrable,
  type Run,
} from "../../src/index.ts";
import { statesOf, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const good = defineStep("good", () => "done");

/** A constraint of somebody else's: the database refuses any change that makes such a row. */
async function refuse(condition: string): Promise<void> {
  await database.query(`alter table cyclone_steps add constraint poison check (not (${condition})) not valid`);
}
const relent = () => database.query("alter table cyclone_steps drop constraint if exists poison");
afterEach(async () => {
  await relent();
  await database.query("delete from cyclone_steps");
  await database.query("delete from cyclone_runs");
});

interface Seen {
  readonly worker: Client;
  /** The runs of which an `error` event told, with the database's code. */
  readonly refused: () => string[];
}

async function startWorker(handlers: readonly Registrable[]): Promise<Seen> {
  const worker = testClient(database, { handlers: [good, ...handlers], leaseTtl: "1s", concurrency: 20 });
  const errors = eventsOf(worker, "error");
  await worker.start();
  return { worker, refused: () => errors.map(({ error, runId }) => `${runId} ${(error as { code?: string }).code}`) };
}

/** Good jobs, started now, end; and nothing more is told of the poisoned ones. */
async function expectOthersGoOn(seen: Seen, poisoned: readonly Run<unknown>[]): Promise<void> {
  const jobs = await good.enqueueMany(seen.worker, Array.from({ length: 20 }));
  expect(new Set(await Promise.all(jobs.map((job) => job.result())))).toEqual(new Set(["done"]));
  const told = poisoned.map((run) => `${run.id} 23514`).sort();
  await eventually(() => expect(seen.refused().sort()).toEqual(told));
  await (await good.enqueue(seen.worker)).result();
  expect(seen.refused().sort()).toEqual(told);
}

describe("a row that the database refuses to change holds up no other, is reported once, and its run is set aside", () => {
  it("by a claim, whose members are then claimed one by one, but no more of them than there are slots", async () => {
    await refuse("step = 'bad' and state = 'running'");
    const bad = defineStep("bad", { priority: 10 }, () => "never");
    const [running, gate] = [{ now: 0, most: 0 }, latch()];
    const others = ["a", "b", "c", "d"].map((name) =>
      defineStep(`counted-${name}`, async () => {
        running.now += 1;
        running.most = Math.max(running.most, running.now);
        await gate.opened;
        running.now -= 1;
      }),
    );
    const producer = testClient(database);
    await bad.enqueue(producer);
    const jobs: Run<unknown>[] = [];
    for (const step of others) jobs.push(...(await step.enqueueMany(producer, Array.from({ length: 5 }))));
    const worker = testClient(database, { handlers: [bad, ...others], concurrency: 2 });
    await worker.start();
    await eventually(() => expect(running.now).toBe(2));
    const { rows } = await database.query("select count(*)::int as n from cyclone_steps where state = 'running'");
    expect(rows[0]?.["n"]).toBeLessThanOrEqual(2);
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    expect(running.most).toBe(2);
  });

  it("by a claim; a worker that starts after the cause is gone calls it", async () => {
    await refuse("step = 'bad' and state = 'running'");
    let calls = 0;
    const bad = defineStep("bad", { priority: 10 }, () => {
      calls += 1;
      return "at last";
    });
    const producer = testClient(database);
    const poisoned = await bad.enqueueMany(producer, Array.from({ length: 3 }));
    const jobs = await good.enqueueMany(producer, Array.from({ length: 30 }));
    const seen = await startWorker([bad]);
    await Promise.all(jobs.map((job) => job.result()));
    await expectOthersGoOn(seen, poisoned);
    expect(calls).toBe(0);
    await relent();
    await seen.worker.stop();
    await startWorker([bad]);
    expect(await Promise.all(poisoned.map((run) => run.result()))).toEqual(["at last", "at last", "at last"]);
  });

  it("by a promotion: what else is due becomes available", async () => {
    await refuse("step = 'bad' and state = 'available'");
    const bad = defineStep("bad", () => "at last");
    const producer = testClient(database);
    const poisoned = [await bad.enqueue(producer, undefined, { delay: 1 })];
    const due = await good.enqueueMany(producer, Array.from({ length: 10 }), { delay: 20 });
    const later = await good.enqueueMany(producer, Array.from({ length: 10 }), { delay: 500 });
    const seen = await startWorker([bad]);
    await Promise.all([...due, ...later].map((job) => job.result()));
    await expectOthersGoOn(seen, poisoned);
    expect(await statesOf(database, poisoned[0]?.id ?? "")).toEqual({ bad: "scheduled" });
    await relent();
    await seen.worker.stop();
    await startWorker([bad]);
    expect(await poisoned[0]?.result()).toBe("at last");
  });

  it("by a reclaim: what else has an expired lease is reclaimed", async () => {
    const bad = defineStep("bad", () => "at last");
    const producer = testClient(database);
    const poisoned = [await bad.enqueue(producer)];
    const jobs = await good.enqueueMany(producer, Array.from({ length: 10 }));
    // As a worker leaves them that has died.
    await database.query(
      "update cyclone_steps set state = 'running', lease_epoch = 1, lease_owner = $1, lease_expiry = statement_timestamp() - interval '1 minute'",
      [randomUUID()],
    );
    await refuse("step = 'bad' and reclaims > 0");
    const seen = await startWorker([bad]);
    await Promise.all(jobs.map((job) => job.result()));
    await expectOthersGoOn(seen, poisoned);
    expect(await stepRow(database, poisoned[0]?.id ?? "")).toMatchObject({ state: "running", lease_epoch: 1 });
    await relent();
    await seen.worker.stop();
    await startWorker([bad]);
    expect(await poisoned[0]?.result()).toBe("at last");
  });

  it("by a completion: those that end in the same moment are recorded, and the refused one's lease runs out", async () => {
    await refuse("step = 'bad' and state = 'completed'");
    let calls = 0;
    const bad = defineStep("bad", () => {
      calls += 1;
      return "at last";
    });
    const producer = testClient(database);
    const poisoned = [await bad.enqueue(producer)];
    const jobs = await good.enqueueMany(producer, Array.from({ length: 15 }));
    const seen = await startWorker([bad]);
    await Promise.all(jobs.map((job) => job.result()));
    await expectOthersGoOn(seen, poisoned);
    expect(calls).toBe(1);
    await relent();
    await seen.worker.stop();
    await startWorker([bad]);
    expect(await poisoned[0]?.result()).toBe("at last");
    expect(await stepRow(database, poisoned[0]?.id ?? "")).toMatchObject({ attempts: 1, reclaims: 1 });
  });

  it("by a failed attempt, and by a discard", async () => {
    await refuse("(step = 'bad' and state = 'scheduled') or (step = 'worse' and state = 'discarded')");
    const bad = defineStep("bad", () => {
      throw new Error("again");
    });
    const worse = defineStep("worse", () => {
      throw new Discard("never");
    });
    const broken = defineStep("broken", () => {
      throw new Discard("as it should be");
    });
    const producer = testClient(database);
    const poisoned = [await bad.enqueue(producer), await worse.enqueue(producer)];
    const discarded = await broken.enqueueMany(producer, Array.from({ length: 5 }));
    const seen = await startWorker([bad, worse, broken]);
    for (const run of discarded) expect(await run.wait()).toMatchObject({ state: "failed" });
    await expectOthersGoOn(seen, poisoned);
    await relent();
    await seen.worker.stop();
    const next = await startWorker([worse]);
    expect(await poisoned[1]?.wait()).toMatchObject({ state: "failed", error: { message: "never" } });
    await next.worker.stop();
  });

  it("by a discard's consequences: a downstream node that can't be cancelled", async () => {
    await refuse("step = 'bad' and state = 'cancelled'");
    const bad = defineStep("bad", () => "");
    const worse = defineStep("worse", () => {
      throw new Discard("never");
    });
    const chain = defineWorkflow("chain", (b) => void bad.do(b, undefined, { after: [worse.do(b)] }));
    const poisoned = [await chain.submit(testClient(database))];
    const seen = await startWorker([worse, bad]);
    await expectOthersGoOn(seen, poisoned);
    await relent();
    await seen.worker.stop();
    await startWorker([worse, bad]);
    expect(await poisoned[0]?.wait()).toMatchObject({ state: "failed" });
    expect(await statesOf(database, poisoned[0]?.id ?? "")).toEqual({ worse: "discarded", bad: "cancelled" });
  });
});

/** Lets this process's monotonic clock jump ahead until the test ends. */
function jumpAhead(ms: number): void {
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => clock.mockRestore());
}

describe("a completed node whose downstream can't be activated", () => {
  it.each(["a plain completion", "a completionTx"])(
    "stays completed, and is activated when the cause is gone: %s",
    async (how) => {
      await refuse("step = 'bad' and state = 'available'");
      let calls = 0;
      const first = defineStep("first", async (ctx) => {
        calls += 1;
        if (how === "a completionTx") await (await ctx.completionTx()).query("select 1");
        return "kept";
      });
      const bad = defineStep("bad", (_ctx, input: string) => `${input}, and used`);
      const chain = defineWorkflow("chain", (b) => bad.do(b, first.do(b)));
      const run = await chain.submit(testClient(database));
      const seen = await startWorker([first, bad]);
      await eventually(async () =>
        expect(await statesOf(database, run.id)).toEqual({ first: "completed", bad: "pending" }),
      );
      await expectOthersGoOn(seen, [run]);
      expect(await stepRow(database, run.id, "first")).toMatchObject({
        output: "kept",
        attempts: 1,
        unactivated: true,
      });
      expect(await run.node("first").output()).toBe("kept");
      // Nor do the sweeps of a worker that comes now do harm, or tell of it more than once.
      const second = await startWorker([first, bad]);
      await eventually(() => expect(second.refused()).toEqual([`${run.id} 23514`]));
      await Promise.all([seen.worker.stop(), second.worker.stop()]);

      await relent();
      await startWorker([first, bad]);
      expect(await run.result()).toBe("kept, and used");
      expect(await stepRow(database, run.id, "first")).toMatchObject({ attempts: 1, reclaims: 0, unactivated: null });
      expect(calls).toBe(1);
    },
  );

  it("is tried again by the same worker, five minutes later", async () => {
    await refuse("step = 'bad' and state = 'available'");
    const first = defineStep("first", () => "kept");
    const bad = defineStep("bad", (_ctx, input: string) => `${input}, and used`);
    const chain = defineWorkflow("chain", (b) => bad.do(b, first.do(b)));
    const run = await chain.submit(testClient(database));
    const seen = await startWorker([first, bad]);
    await expectOthersGoOn(seen, [run]);
    await relent();
    jumpAhead(5 * 60_000 + 1_000);
    expect(await run.result()).toBe("kept, and used");
    expect(seen.refused()).toHaveLength(1);
  });

  it("holds up no other activation of the same moment", async () => {
    await refuse("step = 'bad' and state = 'available'");
    const first = defineAction("first", () => {});
    const [bad, fine] = [defineStep("bad", () => ""), defineStep("fine", () => "fine")];
    const poison = defineWorkflow("poison", (b) => void bad.do(b, undefined, { after: [first.do(b)] }));
    const healthy = defineWorkflow("healthy", (b) => fine.do(b, undefined, { after: [first.do(b)] }));
    const producer = testClient(database);
    const poisoned = await poison.submitMany(producer, Array.from({ length: 3 }));
    const runs = await healthy.submitMany(producer, Array.from({ length: 12 }));
    const seen = await startWorker([first, bad, fine]);
    expect(new Set(await Promise.all(runs.map((run) => run.result())))).toEqual(new Set(["fine"]));
    await expectOthersGoOn(seen, poisoned);
  });
});
