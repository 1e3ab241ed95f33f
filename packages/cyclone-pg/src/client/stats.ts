import type { NodeState, RunState } from "../model/states.ts";
import { countRecentRuns } from "../sql/read/count-recent-runs.ts";
import { countsBy, countsByStep, type LiveCounts, liveSteps, type StepStats } from "./live-steps.ts";
import type { RunReader } from "./run-handle.ts";

/** What there is to do, and what became of the youngest runs. */
export interface Stats {
  /** Steps that workers have leased, over all queues. */
  readonly running: number;
  /** Counts of the states available, scheduled and running by queue; a state that none is in is left out. */
  readonly byQueue: Readonly<Record<string, Partial<Record<NodeState, number>>>>;
  /** The same by queue and step. */
  readonly steps: readonly StepStats[];
  /** For how long the one has been available that has been so longest, in milliseconds; `null`: none is available. */
  readonly oldestAvailableMs: number | null;
  /** What became of the runs of the last hour. */
  readonly recentRuns: RecentRuns;
  /** A count of steps has stopped at its limit: there are at least so many. */
  readonly capped: boolean;
}

/** The runs that were started within the last hour, by their states now: of more than about 20,000 the youngest. */
export type RecentRuns = Readonly<Record<RunState, number>> & {
  /** How far back runs were counted, in milliseconds. */
  readonly windowMs: number;
  /** There were more than were counted. */
  readonly capped: boolean;
};

const WINDOW_MS = 3_600_000;
const RUNS_MAX = 20_000;

export async function readStats(reader: RunReader): Promise<Stats> {
  const rows = await liveSteps(reader);
  const [total] = countsBy(rows, () => "").values();
  return {
    running: total?.running ?? 0,
    byQueue: Object.fromEntries(
      [...countsBy(rows, (row) => row.queue)].map(([queue, counts]) => [queue, byState(counts)]),
    ),
    steps: countsByStep(rows),
    oldestAvailableMs: total?.oldestAvailableMs ?? null,
    recentRuns: await recentRuns(reader),
    capped: total?.capped ?? false,
  };
}

function byState({ available, scheduled, running }: LiveCounts): Partial<Record<NodeState, number>> {
  return Object.fromEntries(Object.entries({ available, scheduled, running }).filter(([, count]) => count > 0));
}

async function recentRuns(reader: RunReader): Promise<RecentRuns> {
  const bucketCount = await reader.bucketCount();
  const limit = Math.ceil(RUNS_MAX / bucketCount);
  const counts = { running: 0, completed: 0, failed: 0, cancelled: 0 };
  let capped = false;
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const rows = await reader.run(countRecentRuns, { bucket, windowMs: WINDOW_MS, limit });
    for (const { state, count } of rows) counts[state] += count;
    capped ||= rows.reduce((sum, { count }) => sum + count, 0) >= limit;
  }
  return { ...counts, windowMs: WINDOW_MS, capped };
}
