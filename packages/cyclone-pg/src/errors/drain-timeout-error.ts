import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** `drain()` didn't come to an end in its time. What is running goes on. */
export class DrainTimeoutError extends CycloneError {
  declare readonly code: "CYCLONE_DRAIN_TIMEOUT";
  /** The limit that was exceeded, in milliseconds. */
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(
      "CYCLONE_DRAIN_TIMEOUT",
      `There was still something to do after ${timeoutMs} ms: give drain a longer timeout, or look at run.nodes() for what doesn't end.`,
    );
    this.timeoutMs = timeoutMs;
  }

  static {
    markError(this, "DrainTimeoutError");
  }
}
