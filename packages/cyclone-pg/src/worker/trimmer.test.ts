import type { Pool } from "pg";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { tablesOf } from "../sql/tables.ts";
import { Trimmer } from "./trimmer.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** The statements of five seconds, with a round every half second, over so many runs, all of which are kept. */
async function statementsBeside(waitingCount: number, runs: number, ms = 4_900): Promise<number> {
  let statements = 0;
  let left = runs;
  const query = async ({ values }: { values: readonly unknown[] }) => {
    statements += 1;
    const seen = Math.min(left, Number(values[2]));
    left -= seen;
    return { rows: [{ trimmed: 0, seen, last_created_at: statements, last_id: "" }] };
  };
  const pool = { query, waitingCount, idleCount: 1, totalCount: 1, options: { max: 4 } } as unknown as Pool;
  const quiet = () => undefined;
  const trimmer = new Trimmer({
    pool,
    tables: tablesOf("public"),
    bucketCount: 1,
    retentionMs: 1_000,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    reports: { trouble: quiet },
  });
  onTestFinished(() => trimmer.stop());
  trimmer.start();
  await vi.advanceTimersByTimeAsync(ms);
  return statements;
}

test("a round of an idle worker is two statements a bucket", async () => {
  expect(await statementsBeside(0, 0)).toBe(20);
});

test("while handlers wait for connections every other round takes place", async () => {
  expect(await statementsBeside(1, 0)).toBe(10);
});

test("a walk looks at 20,000 runs that are kept, and the next round goes on from there", async () => {
  expect(await statementsBeside(0, 60_000, 100)).toBe((2 * 20_000) / 500);
  // Three walks are full; the last of the second round, and those of eight more, find the end at once.
  expect(await statementsBeside(0, 60_000)).toBe((3 * 20_000) / 500 + 1 + 2 * 8);
});
