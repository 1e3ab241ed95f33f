import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { isRunId } from "../model/run-id.ts";

/** A place in the order of runs: all that are older than it come after it. */
export interface RunPosition {
  /** Microseconds since 1970; `Infinity`: before the newest. */
  readonly createdUs: number;
  readonly id: string;
}

/** Smaller than each run's id, so that a position without a run lies after all runs of its instant. */
const NO_ID = "00000000-0000-0000-0000-000000000000";
const FORM = /^(\d{1,16}):(.{36})$/;

/** The text by which a caller goes on from a position. */
export function cursorOf({ createdUs, id }: RunPosition): string {
  return Buffer.from(`${createdUs}:${id}`).toString("base64url");
}

/** Where a list begins. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a cursor that no list has given */
export function positionOf(cursor: string | undefined, createdBefore: string | undefined): RunPosition {
  const from = cursor === undefined ? undefined : read(cursor);
  const end = {
    createdUs: createdBefore === undefined ? Number.POSITIVE_INFINITY : Date.parse(createdBefore) * 1_000,
    id: NO_ID,
  };
  return from !== undefined && isOlder(from, end) ? from : end;
}

/** Whether `a` comes after `b`. */
export function isOlder(a: RunPosition, b: RunPosition): boolean {
  return a.createdUs === b.createdUs ? a.id < b.id : a.createdUs < b.createdUs;
}

/** The position's time as the database takes it, to the microsecond and whatever the session's time zone. */
export function timestampOf({ createdUs }: RunPosition): string {
  if (createdUs === Number.POSITIVE_INFINITY) return "infinity";
  const ms = Math.floor(createdUs / 1_000);
  const us = String(createdUs - ms * 1_000).padStart(3, "0");
  return new Date(ms).toISOString().replace("Z", `${us}Z`);
}

function read(cursor: unknown): RunPosition {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const [, us = "", id = ""] = FORM.exec(text) ?? [];
  const createdUs = Number(us);
  if (isRunId(id) && createdUs <= 8.64e18 / 1_000) return { createdUs, id };
  throw new InvalidOptionError("cursor", "cursor must be the `next` of a page that was listed before");
}
