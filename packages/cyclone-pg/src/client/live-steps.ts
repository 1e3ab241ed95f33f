import { countLiveSteps, type LiveStepsRow } from "../sql/read/count-live-steps.ts";
import type { RunReader } from "./run-handle.ts";

/** Counted of each state, at most and about, over all buckets. */
const COUNT_MAX = 100_000;

/** How many live steps there are, by queue, step and state; a row per bucket. */
export async function liveSteps(reader: RunReader): Promise<LiveStepsRow[]> {
  const bucketCount = await reader.bucketCount();
  const rows: LiveStepsRow[] = [];
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    rows.push(...(await reader.run(countLiveSteps, { bucket, limit: Math.ceil(COUNT_MAX / bucketCount) })));
  }
  return rows;
}

/** Counts of the live states, and how long the oldest available step has been available. */
export interface LiveCounts {
  /** Steps that a worker could claim now. */
  available: number;
  /** Steps that wait for a time: a delay, a backoff, a snooze. */
  scheduled: number;
  /** Steps that a worker has leased. */
  running: number;
  /** Milliseconds, by the database's clock; `null`: none is available. */
  oldestAvailableMs: number | null;
  /** A count has stopped at its limit: there are at least so many. The oldest is that of those which were counted. */
  capped: boolean;
}

/** Adds up rows by what `keyOf` says. */
export function countsBy(rows: readonly LiveStepsRow[], keyOf: (row: LiveStepsRow) => string): Map<string, LiveCounts> {
  const counts = new Map<string, LiveCounts>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = counts.get(key) ?? noneLive();
    counts.set(key, known);
    known[row.state] += row.count;
    known.capped ||= row.capped;
    if (row.oldest_ms !== null) known.oldestAvailableMs = Math.max(known.oldestAvailableMs ?? 0, row.oldest_ms);
  }
  return counts;
}

/** Counts of one step or action in one queue. */
export interface StepStats extends Readonly<LiveCounts> {
  /** The queue. */
  readonly queue: string;
  /** The step's or action's name; `null`: control nodes. */
  readonly step: string | null;
}

/** Adds up rows of several buckets by queue and step. */
export function countsByStep(rows: readonly LiveStepsRow[]): StepStats[] {
  return [...countsBy(rows, (row) => JSON.stringify([row.queue, row.step]))].map(([key, counts]) => {
    const [queue, step] = JSON.parse(key) as [string, string | null];
    return { queue, step, ...counts };
  });
}

export function noneLive(): LiveCounts {
  return { available: 0, scheduled: 0, running: 0, oldestAvailableMs: null, capped: false };
}
