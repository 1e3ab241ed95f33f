import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** No usable connection to Postgres; `cause` is the driver's error. */
export class ConnectionError extends CycloneError {
  declare readonly code: "CYCLONE_CONNECTION";

  constructor(message: string, options?: ErrorOptions) {
    super("CYCLONE_CONNECTION", message, options);
  }

  static {
    markError(this, "ConnectionError");
  }
}
