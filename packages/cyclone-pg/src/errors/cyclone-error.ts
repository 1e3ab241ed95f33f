import type { ErrorCode } from "./codes.ts";
import { markError } from "./mark-error.ts";

/** The base of all errors of Cyclone. Test `code` or the class, never the message. */
export class CycloneError extends Error {
  /** What happened, for programs: one of the codes in `docs/errors.md`. It never changes its meaning. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  static {
    markError(this, "CycloneError");
  }
}

/** Whether this is an error of Cyclone, also of another copy of the package. */
export function isCycloneError(value: unknown): value is CycloneError {
  return value instanceof CycloneError;
}
