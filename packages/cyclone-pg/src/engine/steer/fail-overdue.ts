import { DeadlineError } from "../../errors/deadline-error.ts";
import { toStoredError } from "../../model/stored-error.ts";
import { endRuns } from "../../sql/steer/end-runs.ts";
import type { EndedRun } from "../outcome.ts";
import type { RunStatement } from "../record/record-batch.ts";

// deadline and failFast: as cancel, but the run becomes failed; it keeps the error that it has.

/** Fails runs that `find_overdue_runs` has found. */
export async function failOverdue(
  run: RunStatement,
  bucket: number,
  overdue: readonly { readonly id: string }[],
): Promise<EndedRun[]> {
  if (overdue.length === 0) return [];
  const error = JSON.stringify(toStoredError(new DeadlineError()));
  const runIds = overdue.map(({ id }) => id);
  const [row] = await run(endRuns, { bucket, runIds, state: "failed", reason: null, error });
  const names = row?.ended_names ?? [];
  return (row?.ended_ids ?? []).map((runId, i) => ({ runId, name: names[i] ?? "", state: "failed" }));
}
