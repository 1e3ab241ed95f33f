import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** A build was asynchronous, returned something else than a future, or its builder was used after it had returned. */
export class InvalidBuildError extends CycloneError {
  declare readonly code: "CYCLONE_INVALID_BUILD";
  /** The workflow whose build was refused. */
  readonly workflow: string;

  constructor(workflow: string, message: string, options?: ErrorOptions) {
    super("CYCLONE_INVALID_BUILD", message, options);
    this.workflow = workflow;
  }

  static {
    markError(this, "InvalidBuildError");
  }
}
