import type { Queryable, StartManyOptions, StartOptions } from "../builder/start-options.ts";
import type { Deadline } from "../engine/submit/rows-of.ts";
import type { StartTime } from "../engine/submit/write-runs.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { toMilliseconds } from "../model/duration.ts";
import { checkPriority } from "../model/execution-limits.ts";
import { checkName, checkTag } from "../model/names.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { checkTraceparent } from "../model/traceparent.ts";

/** The options of a start, checked. */
export interface ResolvedStart {
  readonly tx: Queryable | undefined;
  readonly time: StartTime;
  readonly tags: readonly string[] | null;
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly retentionMs: number | null;
  readonly deadline: Deadline;
  readonly traceparent: string | null;
}

const KNOWN = [
  "tx",
  "idempotencyKey",
  "startAt",
  "delay",
  "tags",
  "priority",
  "queue",
  "retention",
  "deadline",
  "traceparent",
] as const satisfies readonly (keyof StartOptions)[];

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function resolveStart(options: StartOptions | StartManyOptions<unknown> = {}, what = "start"): ResolvedStart {
  rejectUnknownKeys(options, KNOWN, what);
  const { tx, tags, queue, priority, retention, deadline, traceparent } = options;
  if (isPool(tx)) {
    throw new InvalidOptionError(
      "tx",
      "tx is a Pool, which runs each statement on any connection: pass the client that holds the transaction",
    );
  }
  if (tx !== undefined && typeof (tx as Partial<Queryable> | null)?.query !== "function") {
    throw new InvalidOptionError(
      "tx",
      "tx must have a method query(text, values), as a `pg` client in an open transaction has: wrap an ORM's transaction by its function of cyclone-pg/orm",
    );
  }
  return {
    tx,
    time: startTime(options),
    tags: tags === undefined ? null : checkTags(tags),
    queue: queue === undefined ? undefined : checkName(queue, "queue"),
    priority: priority === undefined ? undefined : checkPriority(priority, what),
    retentionMs: retention === undefined ? null : toMilliseconds(retention, "retention"),
    deadline: deadlineOf(deadline),
    traceparent: traceparent === undefined ? null : checkTraceparent(traceparent),
  };
}

/** A Pool has `query` too, and counts its connections. */
function isPool(tx: Queryable | undefined): boolean {
  return typeof (tx as { totalCount?: unknown } | null | undefined)?.totalCount === "number";
}

function startTime({ delay, startAt }: Pick<StartOptions, "delay" | "startAt">): StartTime {
  if (delay !== undefined && startAt !== undefined) {
    throw new InvalidOptionError(
      "startAt",
      "startAt and delay can't be given together: startAt is a moment, delay counts from now",
    );
  }
  return {
    delayMs: delay === undefined ? null : toMilliseconds(delay, "delay"),
    startAt: startAt === undefined ? null : instant(startAt, "startAt"),
  };
}

function deadlineOf(deadline: StartOptions["deadline"]): Deadline {
  if (deadline === undefined) return { afterMs: null, at: null };
  const moment = deadline instanceof Date || (typeof deadline === "string" && deadline.includes("-"));
  return moment
    ? { afterMs: null, at: instant(deadline, "deadline") }
    : { afterMs: toMilliseconds(deadline, "deadline"), at: null };
}

/** A moment as the database takes it. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function instant(value: Date | string, option: string): string {
  // A text without a zone would mean another moment on each machine.
  if (typeof value === "string" && !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d(:?\d\d)?)$/i.test(value)) {
    throw new InvalidOptionError(
      option,
      `${option} must be a Date or an ISO 8601 text with a zone, such as "2030-01-01T00:00:00Z"; "${value}" isn't`,
    );
  }
  const date = new Date(value);
  if (Number.isNaN(date.getTime()))
    throw new InvalidOptionError(option, `${option} isn't a valid date: ${String(value)}`);
  return date.toISOString();
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkTags(tags: unknown): string[] {
  if (!Array.isArray(tags)) throw new InvalidOptionError("tags", "tags must be a list of texts");
  return tags.map((tag: unknown, i) => checkTag(tag, `tags[${i}]`));
}
