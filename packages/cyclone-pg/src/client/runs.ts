import type { RunKind, RunState } from "../model/states.ts";
import type { StoredError } from "../model/stored-error.ts";
import type { ListedRunRow } from "../sql/read/run-list.ts";
import {
  type BulkCancelOptions,
  type BulkCounts,
  type BulkOptions,
  cancelAll,
  checkBulkOptions,
  retryAll,
} from "./bulk.ts";
import { cursorOf, isOlder, type RunPosition, timestampOf } from "./run-cursor.ts";
import {
  type BulkFilter,
  type ResolvedRunFilter,
  type RunFilter,
  resolveBulkFilter,
  resolveRunFilter,
} from "./run-filter.ts";
import type { RunReader } from "./run-handle.ts";
import { cancelReason } from "./steering.ts";

/** A run as lists have it: without input and output. */
export interface RunSummary {
  /** A UUIDv7: `client.run(id)` is a handle on it. */
  readonly id: string;
  /** The workflow's, step's or action's name. */
  readonly name: string;
  /** What it was started from. */
  readonly kind: RunKind;
  /** Its state when the page was read. */
  readonly state: RunState;
  /** The tags that its start gave it. */
  readonly tags: readonly string[];
  /** When it was submitted, by the database's clock. */
  readonly createdAt: Date;
  /** When it ended; `null`: it is running. */
  readonly finishedAt: Date | null;
  /** The first error, without stack and causes. */
  readonly error: StoredError | null;
}

/** A page of runs, youngest first. */
export interface RunPage {
  /** At most `limit` of them. */
  readonly runs: readonly RunSummary[];
  /** The `cursor` of the next page; `null`: there is nothing after this one. */
  readonly next: string | null;
}

/** A page shares a statement's scan among the buckets. */
const SCAN_MIN = 100;
const ROUNDS_MAX = 10;

/** Lists runs, and cancels and retries them in bulk. */
export class Runs {
  readonly #reader: () => RunReader;

  constructor(reader: () => RunReader) {
    this.#reader = reader;
  }

  /**
   * Lists runs, youngest first by the database's clock, then by id. Payloads aren't read. The time is bounded whatever the filter and
   * however many runs there are: a page looks at 100,000 runs at most (10,000 with `step` or `queue`), so that one with a filter that fits few may be
   * shorter than `limit`, or empty, while `next` leads on. Failed and cancelled runs are found among any number of others at once.
   * Runs that are started meanwhile are before the first page; no run comes twice. Not in a transaction of yours.
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a filter or cursor that can't be used; an unknown key gets a suggestion
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  async list(filter: RunFilter = {}): Promise<RunPage> {
    const resolved = resolveRunFilter(filter, "runs.list");
    const bucketCount = await this.#reader().bucketCount();
    const rows: ListedRunRow[] = [];
    let from: RunPosition | null = resolved.from;
    for (let round = 0; round < ROUNDS_MAX && from !== null && rows.length < resolved.limit; round++) {
      const page: ListedPage = await this.#page(resolved, from, resolved.limit - rows.length, bucketCount);
      rows.push(...page.rows);
      from = page.next;
    }
    return { runs: rows.map(runSummary), next: from === null ? null : cursorOf(from) };
  }

  /**
   * Cancels the running runs that a filter finds, in batches: after each one as long as it took is left to others. Each batch is a transaction of its
   * own, and what {@link Run.cancel} guarantees holds for its runs once `onProgress` has counted them. Runs that are started meanwhile may be found or
   * not. Called again after an error, or in another process, it goes on with what is left. It doesn't join a transaction of yours.
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a filter without a condition, or one that asks for runs that have ended
   * @throws ConnectionError (`CYCLONE_CONNECTION`), ClientStoppedError (`CYCLONE_CLIENT_STOPPED`); the reason of `signal`
   */
  async cancel(filter: BulkFilter, options: BulkCancelOptions = {}): Promise<BulkCounts> {
    checkBulkOptions(options, "runs.cancel");
    const reason = cancelReason(options.reason);
    return cancelAll(this.#reader(), resolveBulkFilter(filter, "runs.cancel", ["running"]), reason, options);
  }

  /**
   * Retries the failed runs that a filter finds, or with `state` the cancelled ones, or both: each as {@link Run.retry} does, in a transaction of
   * its own, a few at a time. One that fails again meanwhile isn't retried twice. Called again after an error it goes on with what is left. It
   * doesn't join a transaction of yours.
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a filter without a condition, or one that asks for runs that can't be retried
   * @throws ConnectionError (`CYCLONE_CONNECTION`), ClientStoppedError (`CYCLONE_CLIENT_STOPPED`); the reason of `signal`
   */
  async retry(filter: BulkFilter, options: BulkOptions = {}): Promise<BulkCounts> {
    checkBulkOptions(options, "runs.retry");
    return retryAll(this.#reader(), resolveBulkFilter(filter, "runs.retry", ["failed", "cancelled"]), options);
  }

  async #page(
    { statement, params, scan: scanMax }: ResolvedRunFilter,
    from: RunPosition,
    limit: number,
    bucketCount: number,
  ): Promise<ListedPage> {
    const { run } = this.#reader();
    const scan = Math.max(SCAN_MIN, Math.ceil(scanMax / bucketCount));
    const answers: ListedRunRow[][] = [];
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const before = { before: timestampOf(from), beforeId: from.id };
      const page = { bucket, ...params, ...before, scan, limit: limit + 1 };
      answers.push(await run(statement, page));
    }
    return mergedPage(answers, limit, scan);
  }
}

interface ListedPage {
  readonly rows: readonly ListedRunRow[];
  readonly next: RunPosition | null;
}

/**
 * One page of what each bucket gave, of which all were asked for one more than the page holds. A bucket that isn't at its end is known down to
 * its last row only: what is older than the youngest of these is left for the next page.
 */
function mergedPage(answers: readonly (readonly ListedRunRow[])[], limit: number, scan: number): ListedPage {
  const ends = answers.flatMap((rows) => {
    const last = rows.at(-1);
    return last !== undefined && (rows.length > limit || last.place === scan) ? [position(last)] : [];
  });
  const horizon = ends.reduce<RunPosition | null>(
    (young, end) => (young === null || isOlder(young, end) ? end : young),
    null,
  );
  const rows = answers
    .flat()
    .filter((row) => row.matches && (horizon === null || !isOlder(position(row), horizon)))
    .sort((a, b) => (isOlder(position(a), position(b)) ? 1 : -1));
  const last = rows[limit - 1];
  if (rows.length > limit && last !== undefined) return { rows: rows.slice(0, limit), next: position(last) };
  return { rows, next: horizon };
}

function position(row: ListedRunRow): RunPosition {
  return { createdUs: row.created_us, id: row.id };
}

function runSummary(row: ListedRunRow): RunSummary {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as RunKind,
    state: row.state as RunState,
    tags: row.tags ?? [],
    createdAt: new Date(Math.floor(row.created_us / 1_000)),
    finishedAt: row.finished_ms === null ? null : new Date(row.finished_ms),
    error: row.error as StoredError | null,
  };
}
