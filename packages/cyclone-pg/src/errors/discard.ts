import { markError } from "./mark-error.ts";

/** Thrown by a handler: don't try again. The node is discarded with this error. */
export class Discard extends Error {
  static {
    markError(this, "Discard");
  }
}
