import type { Session } from "../db/session.ts";
import type { ClaimedStep } from "../engine/claim/claimed-step.ts";
import { BlockedError, LeaseLostError, RunCancelledError, RunFailedError } from "../errors/abort-errors.ts";
import { readLostLeases } from "../sql/lease/read-lost-leases.ts";
import type { WorkerReports } from "./worker-reports.ts";

/**
 * Tells of lost leases why they are lost: the run was cancelled, has failed, or goes on elsewhere. Without an answer of the database a
 * lost lease is just that. Never rejects.
 * @param blockedMs they were given up because the event loop didn't run for so long
 */
export async function lostBecause(
  session: Session,
  steps: readonly ClaimedStep[],
  blockedMs: number | undefined,
  reports: WorkerReports,
): Promise<(step: ClaimedStep) => Error> {
  if (blockedMs !== undefined) return ({ runId, node }) => new BlockedError(runId, node, blockedMs);
  const reasons = new Map<string, Error>();
  try {
    for (const [bucket, runIds] of idsByBucket(steps)) {
      for (const row of await session.run(readLostLeases, { bucket, runIds })) {
        if (row.state === "cancelled")
          reasons.set(row.run_id, new RunCancelledError(row.run_id, row.cancel_reason ?? undefined));
        if (row.state === "failed") reasons.set(row.run_id, new RunFailedError(row.run_id));
      }
    }
  } catch (error) {
    reports.trouble(error);
  }
  return ({ runId, node }) => reasons.get(runId) ?? new LeaseLostError(runId, node);
}

/** Whether a signal fired since its run had ended: then nothing was lost to another worker. */
export function endedItsRun(reason: unknown): boolean {
  return reason instanceof RunCancelledError || reason instanceof RunFailedError;
}

function idsByBucket(steps: readonly ClaimedStep[]): Map<number, string[]> {
  const groups = new Map<number, string[]>();
  for (const { bucket, runId } of steps) {
    const group = groups.get(bucket) ?? [];
    group.push(runId);
    groups.set(bucket, group);
  }
  return groups;
}
