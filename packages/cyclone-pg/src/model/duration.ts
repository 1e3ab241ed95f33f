import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/**
 * Milliseconds as a number, or a number with a unit: `500`, `"500ms"`, `"30s"`, `"1.5h"`, `"7d"`. Not negative.
 * A text that is only known at run time goes through {@link parseDuration}.
 */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

/** A hundred years of 365 days: longer is a mistake, and must not become an error of the database. */
export const DURATION_MS_MAX = 36_500 * 86_400_000;

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const FORM = /^(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h|d)$/;
const FORMS = `milliseconds as a number, or a text such as "500ms", "30s", "5m", "2h" or "7d", up to "36500d"`;

/**
 * Reads a duration such as `"30s"` from text.
 * @returns milliseconds
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for anything else; the message lists the forms
 */
export function parseDuration(text: string): number {
  return toMilliseconds(text, "duration");
}

/**
 * A duration in whole milliseconds.
 * @param option what the value was given as, for the error
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it isn't a {@link Duration}
 */
export function toMilliseconds(duration: unknown, option: string): number {
  const ms = typeof duration === "number" ? duration : typeof duration === "string" ? readText(duration) : Number.NaN;
  if (!(ms >= 0 && ms <= DURATION_MS_MAX)) {
    const shown = typeof duration === "string" ? JSON.stringify(duration) : shownValue(duration);
    throw new InvalidOptionError(option, `${option}: ${shown} isn't a duration: give ${FORMS}.`);
  }
  return Math.round(ms) + 0; // + 0 makes 0 of -0
}

function readText(text: string): number {
  const match = FORM.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

function shownValue(value: unknown): string {
  return typeof value === "number" || value === undefined || value === null ? String(value) : `a ${typeof value}`;
}
