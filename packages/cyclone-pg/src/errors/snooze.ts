import { type Duration, toMilliseconds } from "../model/duration.ts";
import { markError } from "./mark-error.ts";

/** Thrown by a handler: call me again later. No attempt is charged, and the completion transaction rolls back. */
export class Snooze extends Error {
  /** When the next call comes, in milliseconds after this one. */
  readonly delayMs: number;

  /** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if `delay` isn't a duration */
  constructor(delay: Duration, message = "snoozed", options?: ErrorOptions) {
    super(message, options);
    this.delayMs = toMilliseconds(delay, "delay");
  }

  static {
    markError(this, "Snooze");
  }
}
