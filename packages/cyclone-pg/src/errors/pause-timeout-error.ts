import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** A queue is paused, but claims that were under way before didn't end in time: one of them may still take steps of it. */
export class PauseTimeoutError extends CycloneError {
  declare readonly code: "CYCLONE_PAUSE_TIMEOUT";
  /** The queue, which is paused all the same. */
  readonly queue: string;
  /** For how long a claim was waited for, in milliseconds. */
  readonly timeoutMs: number;

  constructor(queue: string, timeoutMs: number) {
    super(
      "CYCLONE_PAUSE_TIMEOUT",
      `The queue "${queue}" is paused, but a claim that began before hasn't ended after ${timeoutMs} ms: call pause again to wait for it, or look into pg_stat_activity for what holds it up.`,
    );
    this.queue = queue;
    this.timeoutMs = timeoutMs;
  }

  static {
    markError(this, "PauseTimeoutError");
  }
}
