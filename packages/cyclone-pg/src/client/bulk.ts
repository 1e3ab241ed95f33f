import { setTimeout as delay } from "node:timers/promises";
import { BatchSize } from "../db/batch-size.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import { RunNotRetryableError } from "../errors/run-not-retryable-error.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import type { ListedRunRow } from "../sql/read/run-list.ts";
import { type RunPosition, timestampOf } from "./run-cursor.ts";
import type { ResolvedRunFilter } from "./run-filter.ts";
import type { RunReader } from "./run-handle.ts";
import { checkSignal } from "./signal-option.ts";

/** How runs are changed in bulk. */
export interface BulkOptions {
  /** Only counts: nothing is changed. @default false */
  dryRun?: boolean;
  /** Called after each batch, and each page in which nothing was found, with the counts so far, and waited for. What it throws ends the call. */
  onProgress?: (counts: BulkCounts) => void | Promise<void>;
  /** Ends the call with the signal's reason, between two batches. */
  signal?: AbortSignal;
}

/** As `BulkOptions`, with a reason. */
export interface BulkCancelOptions extends BulkOptions {
  /** For people; a kilobyte of it is kept with each run. */
  reason?: string;
}

/** What has been found and done. */
export interface BulkCounts {
  /** Runs that fitted the filter when they were found. */
  readonly matched: number;
  /** Those that the call has cancelled or retried; the others had ended, or moved on, before. */
  readonly changed: number;
}

const OPTIONS = ["dryRun", "onProgress", "signal"] as const satisfies readonly (keyof BulkOptions)[];
const CANCEL_OPTIONS = [...OPTIONS, "reason"] as const satisfies readonly (keyof BulkCancelOptions)[];

const PAGE = 1_000;
/** Runs that are cancelled by one statement: how many nodes they have isn't known before. */
const CANCEL = { first: 20, most: 1_000, slowMs: 250 } as const;
/** Nodes of a batch, unless a single run has more. */
const NODES_MAX = 5_000;
const RETRIES_AT_ONCE = 4;
/** After each batch, this many times as long as it took is left to others. */
const PAUSE = 1;

/** Changes all of some runs of one bucket. @returns how many it has changed */
type Change = (bucket: number, runIds: readonly string[]) => Promise<number>;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkBulkOptions(options: BulkCancelOptions, what: "runs.cancel" | "runs.retry"): void {
  rejectUnknownKeys(options, what === "runs.cancel" ? CANCEL_OPTIONS : OPTIONS, what);
  const { dryRun, onProgress, signal } = options;
  // One that was meant and isn't understood would change every run.
  if (dryRun !== undefined && typeof dryRun !== "boolean")
    throw new InvalidOptionError("dryRun", `dryRun of ${what} must be true or false`);
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw new InvalidOptionError("onProgress", `onProgress of ${what} must be a function`);
  checkSignal(signal, what);
}

/** Cancels what a filter finds. */
export function cancelAll(
  reader: RunReader,
  filter: ResolvedRunFilter,
  reason: string | null,
  options: BulkOptions,
): Promise<BulkCounts> {
  const size = new BatchSize(CANCEL.most, CANCEL.slowMs, CANCEL.first);
  return changeAll(
    reader,
    filter,
    options,
    () => size.max,
    async (bucket, runIds) => {
      const left = await size.measured(runIds.length, () => reader.steering.cancelMany(bucket, runIds, reason));
      let cancelled = runIds.length - left.length;
      for (const runId of left) {
        const one = await unlessGone(reader.steering.cancel({ bucket, runId }, reason));
        if (one?.ended === true) cancelled += 1;
      }
      return cancelled;
    },
  );
}

/** Retries what a filter finds. */
export function retryAll(reader: RunReader, filter: ResolvedRunFilter, options: BulkOptions): Promise<BulkCounts> {
  return changeAll(
    reader,
    filter,
    options,
    () => RETRIES_AT_ONCE,
    async (bucket, runIds) => {
      const retried = await Promise.allSettled(
        runIds.map((runId) => unlessGone(reader.steering.retry({ bucket, runId }).then(() => true))),
      );
      const failed = retried.find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      return retried.filter((one) => one.status === "fulfilled" && one.value === true).length;
    },
  );
}

async function changeAll(
  reader: RunReader,
  filter: ResolvedRunFilter,
  { dryRun = false, onProgress, signal }: BulkOptions,
  batchSize: () => number,
  change: Change,
): Promise<BulkCounts> {
  let counts: BulkCounts = { matched: 0, changed: 0 };
  const count = async (matched: number, changed: number): Promise<void> => {
    counts = { matched: counts.matched + matched, changed: counts.changed + changed };
    await onProgress?.(counts);
  };
  for await (const { bucket, runs } of pagesOf(reader, filter)) {
    signal?.throwIfAborted();
    if (dryRun || runs.length === 0) await count(runs.length, 0);
    for (let left = dryRun ? [] : runs; left.length > 0; ) {
      signal?.throwIfAborted();
      const batch = left.slice(0, fitting(left, batchSize()));
      left = left.slice(batch.length);
      const runIds = batch.map(({ id }) => id);
      await count(batch.length, await paced(signal, () => change(bucket, runIds)));
    }
  }
  return counts;
}

/** How many of the first runs go into one batch: no more than so many, and than so many nodes. */
function fitting(runs: readonly ListedRunRow[], most: number): number {
  let nodes = 0;
  const end = runs.slice(0, most).findIndex(({ remaining }) => (nodes += remaining) > NODES_MAX);
  return end === -1 ? Math.min(most, runs.length) : Math.max(1, end);
}

/** The runs that a filter finds, bucket by bucket, youngest first: none comes twice. */
async function* pagesOf(reader: RunReader, { statement, params, scan, from }: ResolvedRunFilter) {
  const bucketCount = await reader.bucketCount();
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    let position: RunPosition | null = from;
    while (position !== null) {
      const before: { before: string; beforeId: string } = { before: timestampOf(position), beforeId: position.id };
      const rows: ListedRunRow[] = await reader.run(statement, { bucket, ...params, ...before, scan, limit: PAGE });
      const last = rows.at(-1);
      const isWhole = last === undefined || (rows.length < PAGE && last.place < scan);
      position = isWhole ? null : { createdUs: last.created_us, id: last.id };
      yield { bucket, runs: rows.filter((row) => row.matches) };
    }
  }
}

async function paced<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  const pauseMs = (performance.now() - began) * PAUSE;
  await delay(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  return result;
}

/** @returns `undefined` for a run that has gone on, or was trimmed, since it was found */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RunNotFoundError || error instanceof RunNotRetryableError) return undefined;
    throw error;
  }
}
