import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { DURATION_MS_MAX, type Duration, parseDuration, toMilliseconds } from "./duration.ts";
import { rejectUnknownKeys } from "./options.ts";
import type { StoredError } from "./stored-error.ts";

/** An exponential backoff: `min(max, base × factor ^ (attempt − 1))`, then jitter. */
export interface ExponentialBackoff {
  /** The delay after the first attempt. */
  base: Duration;
  /** At least 1. @default 2 */
  factor?: number;
  /** @default "1h" */
  max?: Duration;
  /**
   * `"half"` draws from half of the delay to the whole, `"full"` from 0 to the whole, `"none"` takes the delay as it is.
   * @default "half"
   */
  jitter?: "half" | "full" | "none";
}

/**
 * How long a node waits after a failed attempt: a fixed duration, an {@link ExponentialBackoff}, or a function of the
 * attempt that failed (1-based) and its error. What can't be used (NaN, a negative number, a function that throws) gives
 * way to the default; nothing is longer than 365 days.
 */
export type Backoff = Duration | ExponentialBackoff | ((attempt: number, error: StoredError) => Duration);

/** The longest delay that any backoff gives. */
export const BACKOFF_MS_MAX = 365 * 86_400_000;

const DEFAULTS = { baseMs: 1000, factor: 2, maxMs: 3_600_000, jitter: "half" } as const;
const JITTERS = ["half", "full", "none"] as const;

/** 1 s × 2ⁿ up to an hour, jitter ½ to 1. */
export const DEFAULT_BACKOFF = { base: "1s", factor: 2, max: "1h", jitter: "half" } as const satisfies Backoff;

/**
 * Checks a backoff's form where it is given: texts that aren't durations and unknown keys are mistakes to be told at once.
 * Numbers out of range are left to {@link backoffDelayMs}, which falls back to the default.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function checkBackoff(backoff: unknown, what: string): Backoff {
  if (typeof backoff === "function" || typeof backoff === "number") return backoff as Backoff;
  if (typeof backoff === "string") {
    toMilliseconds(backoff, "backoff");
    return backoff as Backoff;
  }
  if (typeof backoff !== "object" || backoff === null) {
    throw new InvalidOptionError("backoff", `backoff of ${what} must be a duration, an object or a function.`);
  }
  rejectUnknownKeys(backoff, ["base", "factor", "max", "jitter"], `the backoff of ${what}`);
  const { base, max, jitter } = backoff as Partial<ExponentialBackoff>;
  if (base === undefined) throw new InvalidOptionError("backoff", `backoff of ${what} needs a \`base\`, such as "1s".`);
  if (typeof base !== "number") toMilliseconds(base, "backoff.base");
  if (max !== undefined && typeof max !== "number") toMilliseconds(max, "backoff.max");
  if (jitter !== undefined && !JITTERS.includes(jitter)) {
    throw new InvalidOptionError("backoff.jitter", `backoff.jitter of ${what} must be ${JITTERS.join(", ")}.`);
  }
  return backoff as Backoff;
}

/**
 * The delay after a failed attempt, in whole milliseconds: always from 0 to {@link BACKOFF_MS_MAX}, whatever it is given.
 * @param attempt the attempt that failed, from 1
 * @param random gives 0 to 1
 */
export function backoffDelayMs(backoff: Backoff, attempt: number, error: StoredError, random = Math.random): number {
  const n = Number.isFinite(attempt) && attempt > 1 ? attempt : attempt === Number.POSITIVE_INFINITY ? attempt : 1;
  const ms = chosenDelayMs(backoff, n, error, random) ?? exponentialMs(DEFAULT_BACKOFF, n, random);
  return Math.round(Math.min(ms ?? DEFAULTS.baseMs, BACKOFF_MS_MAX));
}

function chosenDelayMs(
  backoff: Backoff,
  attempt: number,
  error: StoredError,
  random: () => number,
): number | undefined {
  try {
    if (typeof backoff === "function") return usableMs(backoff(attempt, error));
    if (typeof backoff === "object" && backoff !== null) return exponentialMs(backoff, attempt, random);
    return usableMs(backoff);
  } catch {
    return undefined; // the user's function threw, or a getter did
  }
}

function exponentialMs(backoff: ExponentialBackoff, attempt: number, random: () => number): number | undefined {
  const baseMs = usableMs(backoff.base);
  if (baseMs === undefined) return undefined;
  const factor = backoff.factor !== undefined && backoff.factor >= 1 ? backoff.factor : DEFAULTS.factor;
  const maxMs = usableMs(backoff.max) ?? DEFAULTS.maxMs;
  // 0 × ∞ would be NaN.
  const ms = baseMs === 0 ? 0 : Math.min(baseMs * factor ** (attempt - 1), maxMs);
  return ms * jitterShare(backoff.jitter ?? DEFAULTS.jitter, random);
}

function jitterShare(jitter: string, random: () => number): number {
  if (jitter === "none") return 1;
  const drawn = random();
  const share = drawn >= 0 && drawn <= 1 ? drawn : 1;
  return jitter === "full" ? share : 0.5 + share / 2;
}

/** Milliseconds from 0 up, or `undefined` for what can't be used; a huge number is cut later. */
function usableMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return duration >= 0 && duration < Number.POSITIVE_INFINITY ? duration : undefined;
  if (typeof duration !== "string") return undefined;
  try {
    return Math.min(parseDuration(duration), DURATION_MS_MAX);
  } catch {
    return undefined;
  }
}
