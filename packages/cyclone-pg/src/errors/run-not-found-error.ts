import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** No run has this id: it never existed, was rolled back, isn't committed yet, or has been trimmed. */
export class RunNotFoundError extends CycloneError {
  declare readonly code: "CYCLONE_RUN_NOT_FOUND";
  /** The id that no run has. */
  readonly runId: string;

  constructor(runId: string, options?: ErrorOptions) {
    super(
      "CYCLONE_RUN_NOT_FOUND",
      `No run has the id "${runId}": check the id and the schema, and that the transaction which started it has committed.`,
      options,
    );
    this.runId = runId;
  }

  static {
    markError(this, "RunNotFoundError");
  }
}
