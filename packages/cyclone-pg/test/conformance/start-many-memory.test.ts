import { expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const MB = 1024 * 1024;

/** The highest memory in use while `work` runs, above what it was before. */
async function peakOf(work: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage();
  let peak = 0;
  const sample = (): void => {
    const now = process.memoryUsage();
    peak = Math.max(peak, now.heapUsed + now.external - before.heapUsed - before.external);
  };
  const timer = setInterval(sample, 20);
  try {
    await work();
    sample();
  } finally {
    clearInterval(timer);
  }
  return peak / MB;
}

const note = defineStep("note", async (_ctx, _input: { text: string; n: number }) => {});

it("100,000 jobs in one call are one transaction, and take a bounded amount of memory", {
  timeout: 120_000,
}, async () => {
  const client = testClient(database);
  // 100,000 texts of a kilobyte are 100 MB of JSON, were they all made at once.
  const text = "x".repeat(1_000);
  const inputs = Array.from({ length: 100_000 }, (_, n) => ({ text, n }));
  let ids: string[] = [];
  const peakMb = await peakOf(async () => {
    ids = (await note.enqueueMany(client, inputs)).map((run) => run.id);
  });
  expect(ids).toHaveLength(100_000);
  const { rows } = await database.query(
    "select count(*)::int as runs, count(distinct xmin::text)::int as transactions from cyclone_runs where name = 'note'",
  );
  expect(rows).toEqual([{ runs: 100_000, transactions: 1 }]);
  expect(peakMb).toBeLessThan(200);
});
