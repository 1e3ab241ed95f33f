import { type Duration, toMilliseconds } from "../model/duration.ts";
import { markError } from "./mark-error.ts";

/** Thrown by a handler: this attempt failed, and the next one comes after this delay instead of the backoff's. */
export class RetryAfter extends Error {
  /** When the next call comes, in milliseconds after this one. */
  readonly delayMs: number;

  /** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if `delay` isn't a duration */
  constructor(delay: Duration, options?: ErrorOptions & { message?: string }) {
    super(options?.message ?? "to be tried again later", options);
    this.delayMs = toMilliseconds(delay, "delay");
  }

  static {
    markError(this, "RetryAfter");
  }
}
