import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** A node or future of one build was used in another one. Each submit has its own builder, and its own futures. */
export class ForeignFutureError extends CycloneError {
  declare readonly code: "CYCLONE_FOREIGN_FUTURE";

  constructor(message: string) {
    super("CYCLONE_FOREIGN_FUTURE", message);
  }

  static {
    markError(this, "ForeignFutureError");
  }
}
