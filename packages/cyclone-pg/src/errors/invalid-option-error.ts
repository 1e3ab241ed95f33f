import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** An option or argument isn't usable; nothing was done. */
export class InvalidOptionError extends CycloneError {
  declare readonly code: "CYCLONE_INVALID_OPTION";
  /** The option's name, such as `maxAttempts`. */
  readonly option: string;

  constructor(option: string, message: string, options?: ErrorOptions) {
    super("CYCLONE_INVALID_OPTION", message, options);
    this.option = option;
  }

  static {
    markError(this, "InvalidOptionError");
  }
}
