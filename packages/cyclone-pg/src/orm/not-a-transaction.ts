import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** For what would insert the run at once, whatever becomes of the caller's transaction. */
export function notATransaction(name: string, takes: string): InvalidOptionError {
  return new InvalidOptionError("tx", `${name} takes an open transaction: ${takes}`);
}
