import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** Only a run that failed or was cancelled can be retried. */
export class RunNotRetryableError extends CycloneError {
  declare readonly code: "CYCLONE_RUN_NOT_RETRYABLE";
  /** The run, which is unchanged. */
  readonly runId: string;
  /** Why it can't be retried. */
  readonly state: "running" | "completed";

  constructor(runId: string, state: "running" | "completed", options?: ErrorOptions) {
    super(
      "CYCLONE_RUN_NOT_RETRYABLE",
      state === "running"
        ? `Run ${runId} is still running: its nodes are tried again by themselves. Cancel it first, if it should begin anew.`
        : `Run ${runId} has completed, so there is nothing to run again: submit a new one.`,
      options,
    );
    this.runId = runId;
    this.state = state;
  }

  static {
    markError(this, "RunNotRetryableError");
  }
}
