import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { toMilliseconds } from "./duration.ts";
import { checkInteger } from "./options.ts";

/** The bounds are those of the columns: outside them is an error at the call, never one of the database. */
const PRIORITY_MIN = -32_768;
const PRIORITY_MAX = 32_767;
const COUNT_MAX = 2_147_483_647;

/** A priority: a whole number, higher first. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkPriority(value: unknown, what: string): number {
  return checkInteger(value, PRIORITY_MIN, PRIORITY_MAX, "priority", what);
}

/** How many attempts a node has, at least 1. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkMaxAttempts(value: unknown, what: string): number {
  return checkInteger(value, 1, COUNT_MAX, "maxAttempts", what);
}

/** How many reclaims a node may have; `null`: no bound. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkMaxReclaims(value: unknown, what: string): number | null {
  return value === Number.POSITIVE_INFINITY ? null : checkInteger(value, 0, COUNT_MAX, "maxReclaims", what);
}

/** A handler's timeout in milliseconds, at least 1. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkTimeout(value: unknown, what: string): number {
  const ms = toMilliseconds(value, "timeout");
  if (ms < 1)
    throw new InvalidOptionError("timeout", `timeout of ${what} is 0: give at least 1 ms, or leave it out for none.`);
  return ms;
}
