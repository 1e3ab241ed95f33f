import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type BulkCounts, type Client, Discard, defineStep, defineWorkflow } from "../../src/index.ts";
import { latch } from "../support/latch.ts";
import { notingPool } from "../support/noting-pool.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);
const chain = defineWorkflow("chain", (b, n: number) => add.do(b, add.do(b, n)));

/** How many runs with a tag are in each state. */
async function statesOf(tag: string): Promise<Record<string, number>> {
  const { rows } = await database.query<{ state: string; n: number }>(
    "select state::text, count(*)::int as n from cyclone_runs where tags @> array[$1] group by 1 order by 1",
    [tag],
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** Runs of `add` with this tag, as many as that, that no worker serves. */
async function waiting(client: Client, tag: string, count: number): Promise<void> {
  await add.enqueueMany(
    client,
    Array.from({ length: count }, (_, i) => i),
    { tags: [tag], queue: "unserved" },
  );
}

describe("runs.cancel()", () => {
  it("cancels all running runs that fit the filter, and no other, with the reason", async () => {
    const producer = testClient(database);
    await waiting(producer, "unwanted", 1_500);
    await waiting(producer, "wanted", 10);
    const graphs = await chain.submitMany(producer, [1, 2, 3], { tags: ["unwanted"] });
    const cancelled = eventsOf(producer, "run.cancelled");
    const told: BulkCounts[] = [];
    const counts = await producer.runs.cancel(
      { tags: ["unwanted"] },
      { reason: "a mistake", onProgress: (at) => void told.push(at) },
    );
    expect(counts).toEqual({ matched: 1_503, changed: 1_503 });
    expect(told.at(-1)).toEqual(counts);
    expect(told.every((at, i) => at.changed >= (told[i - 1]?.changed ?? 0))).toBe(true);
    expect(told.length).toBeGreaterThan(3);
    expect(await statesOf("unwanted")).toEqual({ cancelled: 1_503 });
    expect(await statesOf("wanted")).toEqual({ running: 10 });
    expect(await graphs[0]?.wait()).toMatchObject({ state: "cancelled", reason: "a mistake" });
    expect(new Set(cancelled.map(({ runId }) => runId)).size).toBe(1_503);
    const { rows } = await database.query(
      "select count(*)::int as live from cyclone_steps s join cyclone_runs r on r.id = s.run_id where r.state = 'cancelled' and s.state <> 'cancelled'",
    );
    expect(rows).toEqual([{ live: 0 }]);
  });

  it("takes a bounded number of statements, and few at a time of runs whose size isn't known yet", async () => {
    const { pool, names } = notingPool(database);
    const producer = testClient(database, { connection: pool });
    await waiting(producer, "counted", 2_000);
    names.length = 0;
    const told: BulkCounts[] = [];
    const onProgress = (counts: BulkCounts): void => void told.push(counts);
    expect(await producer.runs.cancel({ tags: ["counted"] }, { onProgress })).toEqual({
      matched: 2_000,
      changed: 2_000,
    });
    expect(told[0]?.matched).toBeLessThanOrEqual(20);
    // Twenty at a time and a few pages, if each is slow.
    expect(names.length).toBeLessThan(120);
  });

  it("is heard by handlers under way, whose late results are refused", async () => {
    const entered = latch();
    const heard = latch<unknown>();
    const hold = defineStep("hold", async (ctx) => {
      entered.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      heard.open(ctx.signal.reason);
    });
    const worker = await testWorker(database, [hold]);
    const job = await hold.enqueue(worker, undefined, { tags: ["held"] });
    await entered.opened;
    expect(await testClient(database).runs.cancel({ step: hold })).toEqual({ matched: 1, changed: 1 });
    expect(await heard.opened).toMatchObject({ name: "RunCancelledError" });
    expect(await job.state()).toBe("cancelled");
  });

  it("tells apart those that had ended before: also one whose last completion isn't counted yet", async () => {
    const producer = testClient(database);
    const job = await add.enqueue(producer, 1, { tags: ["done"], queue: "unserved" });
    // As a worker leaves it that dies right after the COMMIT of a completionTx.
    await database.query(
      "update cyclone_steps set state = 'completed', attempts = 1, lease_epoch = 1, finished_at = statement_timestamp(), unactivated = true, output = '2' where run_id = $1",
      [job.id],
    );
    await waiting(producer, "done", 3);
    expect(await producer.runs.cancel({ tags: ["done"] })).toEqual({ matched: 4, changed: 3 });
    expect(await job.state()).toBe("completed");
    expect(await producer.runs.cancel({ tags: ["done"] })).toEqual({ matched: 0, changed: 0 });
  });

  it("as a dry run only counts", async () => {
    const producer = testClient(database);
    await waiting(producer, "dry", 1_200);
    expect(await producer.runs.cancel({ tags: ["dry"] }, { dryRun: true })).toEqual({ matched: 1_200, changed: 0 });
    expect(await statesOf("dry")).toEqual({ running: 1_200 });
  });

  it("ends between two batches when its signal says so, and goes on with what is left when it is called again", async () => {
    const producer = testClient(database);
    await waiting(producer, "aborted", 300);
    const controller = new AbortController();
    const reason = new Error("enough");
    const onProgress = ({ changed }: BulkCounts): void => {
      if (changed > 0) controller.abort(reason);
    };
    const { signal } = controller;
    await expect(producer.runs.cancel({ tags: ["aborted"] }, { signal, onProgress })).rejects.toBe(reason);
    const { cancelled = 0, running = 0 } = await statesOf("aborted");
    expect([cancelled > 0, running > 0, cancelled + running]).toEqual([true, true, 300]);
    expect(await producer.runs.cancel({ tags: ["aborted"] })).toEqual({ matched: running, changed: running });
  });
});

describe("runs.retry()", () => {
  const unlucky = { once: true };
  const flaky = defineStep("flaky", async (_ctx, n: number) => {
    if (unlucky.once) throw new Discard("not today");
    return n;
  });

  it("retries failed runs, and cancelled ones only if they are asked for", async () => {
    unlucky.once = true;
    const worker = await testWorker(database, [flaky, add]);
    const failed = await flaky.enqueueMany(worker, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], { tags: ["outage"] });
    await Promise.all(failed.map((run) => run.wait()));
    await waiting(worker, "outage", 5);
    await worker.runs.cancel({ tags: ["outage"] });
    expect(await statesOf("outage")).toEqual({ cancelled: 5, failed: 10 });
    unlucky.once = false;
    expect(await worker.runs.retry({ tags: ["outage"] }, { dryRun: true })).toEqual({ matched: 10, changed: 0 });
    expect(await worker.runs.retry({ tags: ["outage"] })).toEqual({ matched: 10, changed: 10 });
    expect(await Promise.all(failed.map((run) => run.result()))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await statesOf("outage")).toEqual({ cancelled: 5, completed: 10 });
    expect(await worker.runs.retry({ tags: ["outage"], state: "cancelled" })).toEqual({ matched: 5, changed: 5 });
    expect(await statesOf("outage")).toEqual({ completed: 10, running: 5 });
  });

  it("retries a run once, also if it fails again while others are retried", async () => {
    unlucky.once = true;
    const worker = await testWorker(database, [flaky]);
    const runs = await flaky.enqueueMany(
      worker,
      Array.from({ length: 40 }, (_, i) => i),
      { tags: ["again"] },
    );
    await Promise.all(runs.map((run) => run.wait()));
    expect(await worker.runs.retry({ tags: ["again"] })).toEqual({ matched: 40, changed: 40 });
    await worker.drain();
    const { rows } = await database.query(
      "select distinct state::text, retries from cyclone_runs where tags @> array['again']",
    );
    expect(rows).toEqual([{ state: "failed", retries: 1 }]);
  });
});

describe("runs that are to be changed in bulk", () => {
  it.each(["cancel", "retry"] as const)("end their %s with the stop of its client", async (what) => {
    await waiting(testClient(database), what, 200);
    if (what === "retry") await testClient(database).runs.cancel({ tags: [what] });
    const client = testClient(database);
    const stopped: Promise<void>[] = [];
    const onProgress = (): void => void stopped.push(client.stop());
    const state = what === "cancel" ? "running" : "cancelled";
    await expect(client.runs[what]({ tags: [what], state }, { onProgress })).rejects.toMatchObject({
      code: "CYCLONE_CLIENT_STOPPED",
    });
    await Promise.all(stopped);
  });

  it("wait for a progress that takes its time, and end with what it throws", async () => {
    const producer = testClient(database);
    await waiting(producer, "thrown", 100);
    const onProgress = async (): Promise<void> => {
      await turn();
      throw new Error("no progress");
    };
    await expect(producer.runs.cancel({ tags: ["thrown"] }, { onProgress })).rejects.toThrow("no progress");
    expect(await statesOf("thrown")).toEqual({ cancelled: 20, running: 80 });
  });

  it("are taken by the nodes that they have, so that a statement stays short", async () => {
    const { pool, names } = notingPool(database);
    const producer = testClient(database, { connection: pool });
    const wide = defineWorkflow("wide", (b, n: number) => {
      for (let i = 0; i < n; i++) add.do(b, i);
    });
    await wide.submitMany(
      producer,
      Array.from({ length: 6 }, () => 2_400),
      { tags: ["wide"], queue: "unserved" },
    );
    names.length = 0;
    expect(await producer.runs.cancel({ tags: ["wide"] })).toEqual({ matched: 6, changed: 6 });
    expect(names.filter((name) => name === "end_runs").length).toBeGreaterThanOrEqual(3);
  });

  it("are refused without a condition, with one that is undefined, and in states that can't be changed", async () => {
    const { runs } = testClient(database);
    const refused = async (work: Promise<unknown>): Promise<unknown> => {
      const error: unknown = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      return [(error as { code?: unknown }).code, (error as Error).message];
    };
    const code = "CYCLONE_INVALID_OPTION";
    // The types refuse these as well.
    const anything = (value: unknown): never => value as never;
    expect(await refused(runs.cancel({}))).toEqual([code, expect.stringContaining('state: "running"')]);
    expect(await refused(runs.cancel(anything(undefined)))).toEqual([code, expect.stringContaining("runs.cancel")]);
    expect(await refused(runs.cancel(anything({ definition: undefined })))).toEqual([
      code,
      expect.stringContaining("would fit every run"),
    ]);
    expect(await refused(runs.cancel({ tags: [] }))).toEqual([code, expect.stringContaining("would fit every run")]);
    expect(await refused(runs.cancel({ state: "failed" }))).toEqual([code, expect.stringContaining("running")]);
    expect(await refused(runs.retry({ state: ["failed", "completed"] }))).toEqual([
      code,
      expect.stringContaining("completed"),
    ]);
    expect(await refused(runs.cancel(anything({ limit: 5 })))).toEqual([code, expect.stringContaining('"limit"')]);
    expect(await refused(runs.cancel({ state: "running" }, anything({ dryrun: true })))).toEqual([
      code,
      expect.stringContaining('did you mean "dryRun"'),
    ]);
    expect(await refused(runs.cancel({ state: "running" }, anything({ dryRun: "yes" })))).toEqual([
      code,
      expect.stringContaining("dryRun"),
    ]);
    expect(await refused(runs.retry({ state: "failed" }, anything({ reason: "no" })))).toEqual([
      code,
      expect.stringContaining('"reason"'),
    ]);
  });
});
