import { describe, expect, it } from "vitest";
import { type Backoff, Discard, defineAction, defineStep, RetryAfter, Snooze } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

interface Failure {
  readonly backoff?: Backoff;
  /** Attempts that the row already has. */
  readonly attempts?: number;
}

/** Lets each step fail once, and gives the delays, in ms, that the rows have then. */
async function delaysAfterFailure(prefix: string, failures: readonly Failure[]): Promise<number[]> {
  const producer = testClient(database);
  const steps = failures.map(({ backoff }, i) =>
    defineStep(`${prefix}-${i}`, { ...(backoff === undefined ? {} : { backoff }), maxAttempts: 1_000 }, async () => {
      throw new Error("failed");
    }),
  );
  const jobs = await Promise.all(steps.map((step) => step.enqueue(producer)));
  for (const [i, job] of jobs.entries()) {
    const values = [job.id, failures[i]?.attempts ?? 0];
    await database.query("update cyclone_steps set attempts = $2 where run_id = $1", values);
  }
  const client = await testWorker(database, steps);
  const failed = eventsOf(client, "step.failed");
  await eventually(() => expect(failed.length).toBeGreaterThanOrEqual(failures.length));
  await client.stop();
  return Promise.all(
    jobs.map(async (job, i) => {
      const row = await stepRow(database, job.id);
      expect(row).toMatchObject({ state: "scheduled", error: { message: "failed" } });
      expect(row.attempts).toBe((failures[i]?.attempts ?? 0) + 1);
      const { rows } = await database.query<{ delay: number }>(
        `select extract(epoch from s.available_at - a.finished_at)::float8 * 1000 as delay
         from cyclone_steps s join cyclone_attempts a using (bucket, run_id, key, item) where s.run_id = $1`,
        [job.id],
      );
      return Math.round(rows[0]?.delay ?? Number.NaN);
    }),
  );
}

describe("a handler that throws", () => {
  it("is called again after the backoff, with the next attempt's number, until it returns", async () => {
    const seen: { attempt: number; at: number }[] = [];
    const flaky = defineStep("flaky", { backoff: "150ms" }, async (ctx) => {
      seen.push({ attempt: ctx.attempt, at: performance.now() });
      if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`);
      return "in the end";
    });
    const client = await testWorker(database, [flaky]);
    const job = await flaky.enqueue(client);
    expect(await job.result()).toBe("in the end");
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    for (const i of [1, 2]) expect(seen[i]!.at - seen[i - 1]!.at).toBeGreaterThanOrEqual(150);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "completed", attempts: 3, output: "in the end" });
    expect(await attemptRows(database, job.id)).toEqual([
      expect.objectContaining({
        attempt: 1,
        epoch: 1,
        outcome: "failed",
        error: expect.objectContaining({ message: "attempt 1" }),
      }),
      expect.objectContaining({
        attempt: 2,
        epoch: 2,
        outcome: "failed",
        error: expect.objectContaining({ message: "attempt 2" }),
      }),
    ]);
  });

  it("synchronously is no different", async () => {
    const flaky = defineAction("flaky-sync", { backoff: 1 }, (ctx) => {
      if (ctx.attempt < 2) throw new Error("at once");
    });
    const client = await testWorker(database, [flaky]);
    const job = await flaky.enqueue(client);
    await job.result();
    expect((await stepRow(database, job.id)).attempts).toBe(2);
  });

  it("is discarded at maxAttempts calls, no fewer and no more", async () => {
    let calls = 0;
    const hopeless = defineStep("hopeless", { backoff: 1, maxAttempts: 3 }, async () => {
      calls += 1;
      throw new Error(`call ${calls}`);
    });
    const client = await testWorker(database, [hopeless]);
    const job = await hopeless.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "call 3" } });
    expect(calls).toBe(3);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 3 });
    expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["failed", "failed", "failed"]);
  });

  it("has the limit that its row says, not the one in the worker's code", async () => {
    let calls = 0;
    const here = defineStep("limited", { backoff: 1, maxAttempts: 20 }, async () => {
      calls += 1;
      throw new Error("no");
    });
    const there = defineStep("limited", { maxAttempts: 2 });
    const client = await testWorker(database, [here]);
    await (await there.enqueue(client)).wait();
    expect(calls).toBe(2);
  });
});

describe("the backoff", () => {
  it("is 1 s doubled with each attempt, up to an hour, of which at least half is waited, where nothing else is said", async () => {
    const late = [30, 31, 32, 63, 64, 500];
    const delays = await delaysAfterFailure(
      "default",
      [0, 3, ...late].map((attempts) => ({ attempts })),
    );
    const [first, fourth, ...others] = delays;
    const within = (delay: number | undefined, most: number): void => {
      expect(delay).toBeGreaterThanOrEqual(most / 2);
      expect(delay).toBeLessThanOrEqual(most);
    };
    within(first, 1_000);
    within(fourth, 8_000);
    expect(others).toHaveLength(late.length);
    for (const delay of others) within(delay, 3_600_000);
  });

  it("is what the step says: fixed, exponential or a function of attempt and error", async () => {
    const delays = await delaysAfterFailure("shaped", [
      { backoff: "7s", attempts: 4 },
      { backoff: { base: "2s", factor: 3, max: "1m", jitter: "none" }, attempts: 2 },
      { backoff: { base: "2s", factor: 3, max: "1m", jitter: "none" }, attempts: 9 },
      { backoff: (attempt, error) => attempt * 1_000 + error.message.length, attempts: 4 },
    ]);
    expect(delays).toEqual([7_000, 18_000, 60_000, 5_006]);
  });

  it("falls back to the default where it can't be used, and the failure is recorded all the same", async () => {
    const useless: Backoff[] = [
      () => Number.NaN,
      () => -1,
      () => Number.POSITIVE_INFINITY,
      () => "soon" as never,
      () => {
        throw new Error("in the backoff");
      },
      -5,
    ];
    const delays = await delaysAfterFailure(
      "useless",
      useless.map((backoff) => ({ backoff })),
    );
    expect(delays).toHaveLength(useless.length);
    for (const [i, delay] of delays.entries()) {
      expect(delay, `backoff ${i}`).toBeGreaterThanOrEqual(500);
      expect(delay, `backoff ${i}`).toBeLessThanOrEqual(1_000);
    }
    const [huge] = await delaysAfterFailure("huge", [{ backoff: { base: Number.MAX_VALUE, max: Number.MAX_VALUE } }]);
    expect(huge).toBeLessThanOrEqual(365 * 86_400_000);
  });
});

describe("a thrown Discard", () => {
  it("ends the trying at once", async () => {
    let calls = 0;
    const pointless = defineStep("pointless", async () => {
      calls += 1;
      throw new Discard("no such customer", { cause: new Error("404") });
    });
    const client = await testWorker(database, [pointless]);
    const job = await pointless.enqueue(client);
    expect(await job.wait()).toMatchObject({
      state: "failed",
      error: { name: "Discard", message: "no such customer" },
    });
    await client.drain();
    expect(calls).toBe(1);
  });
});

describe("a thrown Snooze", () => {
  it("runs the step again later and charges no attempt, however often", async () => {
    const seen: { attempt: number; snoozes: number; at: number }[] = [];
    const sleepy = defineStep("sleepy", { maxAttempts: 1 }, async (ctx) => {
      seen.push({ attempt: ctx.attempt, snoozes: ctx.snoozes, at: performance.now() });
      if (ctx.snoozes < 3) throw new Snooze("120ms");
      return ctx.snoozes;
    });
    const client = await testWorker(database, [sleepy]);
    const snoozed = eventsOf(client, "step.snoozed");
    const job = await sleepy.enqueue(client);
    expect(await job.result()).toBe(3);
    expect(seen.map(({ attempt, snoozes }) => [attempt, snoozes])).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    for (let i = 1; i < 4; i++) expect(seen[i]!.at - seen[i - 1]!.at).toBeGreaterThanOrEqual(120);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, snoozes: 3, reclaims: 0, error: null });
    expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["snoozed", "snoozed", "snoozed"]);
    expect(snoozed.map(({ delayMs }) => delayMs)).toEqual([120, 120, 120]);
  });

  it("of no time is called again, too", async () => {
    const restless = defineStep("restless", async (ctx) => {
      if (ctx.snoozes < 2) throw new Snooze(0);
    });
    const client = await testWorker(database, [restless]);
    const job = await restless.enqueue(client);
    await job.result();
    expect((await stepRow(database, job.id)).snoozes).toBe(2);
  });
});

describe("a thrown RetryAfter", () => {
  it("sets the delay of this retry, and is charged as any failure", async () => {
    const limited = defineStep("rate-limited", { backoff: "1h", maxAttempts: 3 }, async (ctx) => {
      if (ctx.attempt === 1) throw new RetryAfter("50ms", { message: "429" });
      throw new RetryAfter("2h");
    });
    const client = await testWorker(database, [limited]);
    const failed = eventsOf(client, "step.failed");
    const job = await limited.enqueue(client);
    await eventually(() => expect(failed).toHaveLength(2));
    expect(failed.map(({ retryInMs }) => retryInMs)).toEqual([50, 7_200_000]);
    const row = await stepRow(database, job.id);
    expect(row).toMatchObject({ state: "scheduled", attempts: 2 });
    expect((await attemptRows(database, job.id)).map(({ outcome, error }) => [outcome, error?.message])).toEqual([
      ["failed", "429"],
      ["failed", "to be tried again later"],
    ]);
  });

  it("on the last attempt discards", async () => {
    const once = defineStep("rate-limited-once", { maxAttempts: 1 }, async () => {
      throw new RetryAfter("1ms");
    });
    const client = await testWorker(database, [once]);
    expect(await (await once.enqueue(client)).wait()).toMatchObject({ state: "failed" });
  });
});

describe("what a handler knows of its call", () => {
  it("is the run, the node, the step, the attempt and a key that stays the same over retries", async () => {
    const seen: object[] = [];
    const curious = defineStep("curious", { backoff: 1 }, async (ctx) => {
      const { runId, node, step, attempt, reclaims, snoozes, idempotencyKey } = ctx;
      seen.push({ runId, node, step, attempt, reclaims, snoozes, idempotencyKey });
      if (attempt === 1) throw new Error("again");
    });
    const client = await testWorker(database, [curious]);
    const { id } = await curious.enqueue(client);
    await client.run(id).wait();
    const common = {
      runId: id,
      node: "curious",
      step: "curious",
      reclaims: 0,
      snoozes: 0,
      idempotencyKey: `${id}/curious`,
    };
    expect(seen).toEqual([
      { ...common, attempt: 1 },
      { ...common, attempt: 2 },
    ]);
  });
});
