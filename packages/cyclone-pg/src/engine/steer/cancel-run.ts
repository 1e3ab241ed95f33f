import { endRuns } from "../../sql/steer/end-runs.ts";
import { findUncountedNodes } from "../../sql/steer/find-uncounted-nodes.ts";
import type { EndedRun } from "../outcome.ts";
import { type RunStatement, recordBatch } from "../record/record-batch.ts";

// cancel: pending · scheduled · available · running · waiting → cancelled, run → cancelled. One transaction: a crash before its commit
// leaves the runs as they were, after it nothing is missing but wake-ups. Locks: the live rows by run and key, then the runs' rows by id.

export interface RunPlace {
  readonly bucket: number;
  readonly runId: string;
}

/** What a cancel or retry has to do before it can be carried out. */
export interface Counted {
  readonly ended: readonly EndedRun[];
  readonly activated: number;
}

/** Cancels those of a bucket's runs that have live nodes. @returns the runs that this call has ended */
export async function cancelRuns(
  run: RunStatement,
  bucket: number,
  runIds: readonly string[],
  reason: string | null,
): Promise<EndedRun[]> {
  const [row] = await run(endRuns, { bucket, runIds, state: "cancelled", reason, error: null });
  const names = row?.ended_names ?? [];
  return (row?.ended_ids ?? []).map((runId, i) => ({ runId, name: names[i] ?? "", state: "cancelled" }));
}

/**
 * Activates what completionTxs have completed without anybody's having told the run: after that a run without live nodes has ended, and one that
 * has ended may be retried.
 */
export async function countCompletions(run: RunStatement, { bucket, runId }: RunPlace): Promise<Counted> {
  const nodes = await run(findUncountedNodes, { bucket, runId });
  if (nodes.length === 0) return { ended: [], activated: 0 };
  const settlements = nodes.map(({ key, item, epoch }) => ({
    lease: { bucket, runId, key, item, epoch },
    outcome: { kind: "committed" } as const,
  }));
  return recordBatch(run, "complete", settlements, "");
}
