import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The client's `around` didn't call `next()` once and leave what came of it as it was. The attempt has failed. */
export class AroundError extends CycloneError {
  declare readonly code: "CYCLONE_AROUND";

  constructor(message: string, options?: ErrorOptions) {
    super("CYCLONE_AROUND", message, options);
  }

  static {
    markError(this, "AroundError");
  }
}
