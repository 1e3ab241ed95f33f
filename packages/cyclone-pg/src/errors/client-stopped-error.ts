import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The client has been stopped, and a stopped client doesn't start again. */
export class ClientStoppedError extends CycloneError {
  declare readonly code: "CYCLONE_CLIENT_STOPPED";

  constructor(message = "This client has been stopped: create a new one.", options?: ErrorOptions) {
    super("CYCLONE_CLIENT_STOPPED", message, options);
  }

  static {
    markError(this, "ClientStoppedError");
  }
}
