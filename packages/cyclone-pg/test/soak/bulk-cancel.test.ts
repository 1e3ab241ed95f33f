import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { type BulkCounts, type Client, defineStep } from "../../src/index.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { isSoak, span } from "./spans.ts";

const database = useTestDatabase();

const RUNS = span(20_000, 100_000);
const SUBMIT = 5_000;
/** Jobs under way beside the cancel. */
const IN_FLIGHT = 200;
const LANES = 10;

const wanted = defineStep("wanted", (_ctx, n: number) => n);
const unwanted = defineStep("unwanted", (_ctx, n: number) => n);

/** Keeps a worker busy. @returns how many jobs it has done so far, and what ends it */
function busy(client: Client): { readonly done: () => number; readonly stop: () => Promise<unknown> } {
  let done = 0;
  const end = new AbortController();
  const inputs = Array.from({ length: IN_FLIGHT / LANES }, (_, i) => i);
  const lanes = Array.from({ length: LANES }, async () => {
    while (!end.signal.aborted) {
      const jobs = await wanted.enqueueMany(client, inputs);
      await Promise.all(jobs.map((job) => job.wait()));
      done += jobs.length;
    }
  });
  return {
    done: () => done,
    stop: () => {
      end.abort();
      return Promise.all(lanes);
    },
  };
}

async function rateOf(done: () => number, during: () => Promise<unknown>): Promise<number> {
  const [before, began] = [done(), performance.now()];
  await during();
  return ((done() - before) / (performance.now() - began)) * 1_000;
}

it("many runs are cancelled with progress and in bounded memory, and workers go on meanwhile", {
  timeout: 300_000,
}, async () => {
  const producer = testClient(database);
  for (let at = 0; at < RUNS; at += SUBMIT) {
    await unwanted.enqueueMany(
      producer,
      Array.from({ length: SUBMIT }, (_, i) => at + i),
      { queue: "unserved" },
    );
  }
  const work = busy(await testWorker(database, [wanted]));
  await rateOf(work.done, () => wait(2_000)); // warms up
  const alone = await rateOf(work.done, () => wait(span(3_000, 10_000)));
  const told: BulkCounts[] = [];
  let heapMost = 0;
  const heapBefore = process.memoryUsage().heapUsed;
  const canceller = testClient(database);
  let counts: BulkCounts | undefined;
  const beside = await rateOf(work.done, async () => {
    counts = await canceller.runs.cancel(
      { definition: unwanted },
      {
        reason: "too many",
        onProgress: (at) => {
          told.push(at);
          heapMost = Math.max(heapMost, process.memoryUsage().heapUsed - heapBefore);
        },
      },
    );
  });
  const after = await rateOf(work.done, () => wait(span(3_000, 10_000)));
  await work.stop();
  const usual = (alone + after) / 2;
  console.log(
    `jobs/s: ${alone.toFixed(0)} before, ${beside.toFixed(0)} beside the cancel of ${RUNS} runs (${((100 * beside) / usual).toFixed(0)} %), ${after.toFixed(0)} after; heap + ${(heapMost / 1e6).toFixed(0)} MB at most`,
  );
  expect(counts).toEqual({ matched: RUNS, changed: RUNS });
  expect(told.length).toBeGreaterThan(RUNS / 1_000 / 2);
  expect(heapMost).toBeLessThan(200_000_000);
  const steps = told.map(({ matched }, i) => matched - (told[i - 1]?.matched ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(1_000);
  // A few seconds, beside other tests, say that workers go on, and little more.
  expect(beside / usual).toBeGreaterThan(isSoak ? 0.7 : 0.05);
});
