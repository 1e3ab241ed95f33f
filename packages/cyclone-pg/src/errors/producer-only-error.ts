import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** `start()` was called on a client without handlers, which is a producer. */
export class ProducerOnlyError extends CycloneError {
  declare readonly code: "CYCLONE_PRODUCER_ONLY";

  constructor() {
    super(
      "CYCLONE_PRODUCER_ONLY",
      "This client has no handlers, so it is a producer and can't be started: pass `handlers` to createClient to make it a worker.",
    );
  }

  static {
    markError(this, "ProducerOnlyError");
  }
}
