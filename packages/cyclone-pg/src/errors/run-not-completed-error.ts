import type { RunState } from "../model/states.ts";
import type { StoredError } from "../model/stored-error.ts";
import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The run has no result: it failed, was cancelled, or (for `output()`) is still running. */
export class RunNotCompletedError extends CycloneError {
  declare readonly code: "CYCLONE_RUN_NOT_COMPLETED";
  /** The run that was read. */
  readonly runId: string;
  /** Its state at that moment: `failed`, `cancelled`, or (`output()` only) `running`. */
  readonly state: RunState;
  /** Why it failed or was cancelled, as stored. */
  readonly error: StoredError | undefined;
  /** Why it was cancelled, if that was said. */
  readonly reason: string | undefined;

  constructor(runId: string, state: RunState, error?: StoredError, reason?: string, options?: ErrorOptions) {
    super("CYCLONE_RUN_NOT_COMPLETED", describe(runId, state, error, reason), options);
    this.runId = runId;
    this.state = state;
    this.error = error;
    this.reason = reason;
  }

  static {
    markError(this, "RunNotCompletedError");
  }
}

function describe(runId: string, state: RunState, error: StoredError | undefined, reason: string | undefined): string {
  if (state === "running") return `Run ${runId} is still running: wait for it with result() or wait().`;
  if (state === "cancelled") return `Run ${runId} was cancelled${reason === undefined ? "." : `: ${reason}`}`;
  const where = error?.node === undefined ? "" : ` at node "${error.node}"`;
  const why = error === undefined ? "" : `: ${error.name}: ${error.message}`;
  return `Run ${runId} ${state}${where}${why}`;
}
