import { DeadlineError } from "../../errors/deadline-error.ts";
import { toStoredError } from "../../model/stored-error.ts";
import { endRuns } from "../../sql/steer/end-runs.ts";
import type { EndedRun } from "../outcome.ts";
import type { RunStatement } from "../record/record-batch.ts";

// deadline and failFast: as cancel, but the run becomes failed; it keeps the error that it has.

/** Fails a run that `find_overdue_runs` has found, if it still is overdue. */
export async function failOverdue(run: RunStatement, bucket: number, runId: string): Promise<EndedRun[]> {
  const error = JSON.stringify(toStoredError(new DeadlineError()));
  const [row] = await run(endRuns, { bucket, runIds: [runId], state: "failed", reason: null, error });
  return (row?.ended_names ?? []).map((name) => ({ runId, name, state: "failed" }));
}
