import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The stored error of a run that wasn't finished by its `deadline`. */
export class DeadlineError extends CycloneError {
  declare readonly code: "CYCLONE_DEADLINE";

  constructor(options?: ErrorOptions) {
    super(
      "CYCLONE_DEADLINE",
      "The run's deadline passed before all its nodes had ended: they were cancelled.",
      options,
    );
  }

  static {
    markError(this, "DeadlineError");
  }
}
