import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** A future was used as if it were its value. The value exists only once a worker has completed the node. */
export class FutureMisusedError extends CycloneError {
  declare readonly code: "CYCLONE_FUTURE_MISUSED";

  constructor(message: string, options?: ErrorOptions) {
    super("CYCLONE_FUTURE_MISUSED", message, options);
  }

  static {
    markError(this, "FutureMisusedError");
  }
}
