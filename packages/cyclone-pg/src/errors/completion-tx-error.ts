import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The completion transaction was used after its handler had settled, was ended behind the engine's back, or can't commit. */
export class CompletionTxError extends CycloneError {
  declare readonly code: "CYCLONE_COMPLETION_TX";

  constructor(message: string, options?: ErrorOptions) {
    super("CYCLONE_COMPLETION_TX", message, options);
  }

  static {
    markError(this, "CompletionTxError");
  }
}
