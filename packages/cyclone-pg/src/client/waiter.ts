import { setMaxListeners } from "node:events";
import { BatchSize } from "../db/batch-size.ts";
import { isTransient } from "../db/database-errors.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import { bucketOf } from "../model/run-id.ts";
import { type EndedRunRow, findEndedRuns } from "../sql/read/find-ended-runs.ts";
import { type LongTimeout, setLongTimeout } from "../worker/long-timeout.ts";

export interface WaiterOptions {
  readonly run: RunStatement;
  readonly bucketCount: () => Promise<number>;
  readonly pollMs: number;
  /** Somebody waits: a good moment to listen for notifications. */
  readonly onWaiting: () => void;
}

interface Waiting {
  readonly wantResult: boolean;
  readonly resolve: (row: EndedRunRow) => void;
  readonly reject: (error: unknown) => void;
}

const BATCH_MAX = 1_000;
/** A query that took longer is followed by a smaller one. */
const BATCH_MS = 1_000;
/** Between two looks that notifications ask for; runs of this process that end are looked for at once. */
const GAP_MS = 20;
const JITTER = 0.3;

/**
 * Waits for the ends of runs, however many, by one query per look and bucket: at once for a run that is new here, when this process
 * or a notification says that runs have ended, and by polling.
 */
export class Waiter {
  readonly #options: WaiterOptions;
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Runs that the next look is about; a poll is about all. */
  readonly #due = new Set<string>();
  #timer: LongTimeout | undefined;
  #looking = false;
  /** How many runs a query may ask for: results may be large. */
  readonly #size = new BatchSize(BATCH_MAX, BATCH_MS);
  #lastLookAt = 0;
  #nextPollAt = 0;
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: WaiterOptions) {
    this.#options = options;
  }

  /** @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`); the signal's reason when it fires, which leaves the run alone */
  wait(runId: string, wantResult: boolean, signal: AbortSignal | undefined): Promise<EndedRunRow> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return reject(this.#closed.reason);
      if (signal?.aborted === true) return reject(signal.reason);
      const onAbort = (): void => {
        this.#remove(runId, waiting);
        reject(signal?.reason);
      };
      const settle =
        <T>(by: (value: T) => void) =>
        (value: T): void => {
          signal?.removeEventListener("abort", onAbort);
          by(value);
        };
      const waiting: Waiting = { wantResult, resolve: settle(resolve), reject: settle(reject) };
      // Many waits may share one signal, which is no leak.
      if (signal !== undefined) setMaxListeners(0, signal);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#add(runId, waiting);
    });
  }

  /** These runs have ended in this process. */
  ended(runIds: Iterable<string>): void {
    for (const id of runIds) if (this.#waiting.has(id)) this.#due.add(id);
    if (this.#due.size > 0) this.#soon(0);
  }

  /** Some runs have ended somewhere. */
  wake(): void {
    for (const id of this.#waiting.keys()) this.#due.add(id);
    if (this.#due.size > 0) this.#soon(Math.max(0, this.#lastLookAt + GAP_MS - performance.now()));
  }

  /** Rejects all that still wait. */
  close(reason: unknown): void {
    this.#closed = { reason };
    this.#timer?.clear();
    this.#timer = undefined;
    for (const set of this.#waiting.values()) for (const waiting of set) waiting.reject(reason);
    this.#waiting.clear();
  }

  #add(runId: string, waiting: Waiting): void {
    const set = this.#waiting.get(runId);
    if (set === undefined) this.#waiting.set(runId, new Set([waiting]));
    else set.add(waiting);
    this.#options.onWaiting();
    this.#due.add(runId);
    this.#soon(0);
  }

  #remove(runId: string, waiting: Waiting): void {
    const set = this.#waiting.get(runId);
    set?.delete(waiting);
    if (set?.size === 0) {
      this.#waiting.delete(runId);
      this.#due.delete(runId);
    }
    if (this.#waiting.size === 0) this.#timer?.clear();
  }

  #soon(delayMs: number): void {
    if (this.#looking) return; // the look under way schedules the next
    this.#timer?.clear();
    this.#timer = setLongTimeout(() => void this.#look(), delayMs);
  }

  async #look(): Promise<void> {
    this.#looking = true;
    this.#lastLookAt = performance.now();
    const all = this.#due.size === 0 || this.#lastLookAt >= this.#nextPollAt;
    const ids = [...(all ? this.#waiting.keys() : this.#due)];
    this.#due.clear();
    if (all) this.#nextPollAt = this.#lastLookAt + this.#options.pollMs * (1 + Math.random() * JITTER);
    try {
      await this.#lookFor(ids.filter((id) => this.#waiting.has(id)));
    } catch (error) {
      // The database is away: the poll goes on. Anything else (no tables, no rights) is for those who wait to know.
      if (!isTransient(error)) for (const id of ids) this.#settle(id, (waiting) => waiting.reject(error));
    } finally {
      this.#looking = false;
    }
    if (this.#waiting.size === 0) return;
    this.#soon(this.#due.size > 0 ? GAP_MS : Math.max(0, this.#nextPollAt - performance.now()));
  }

  async #lookFor(ids: readonly string[]): Promise<void> {
    const bucketCount = await this.#options.bucketCount();
    const byBucket = new Map<number, string[]>();
    for (const id of ids) {
      const bucket = bucketOf(id, bucketCount);
      const group = byBucket.get(bucket);
      if (group === undefined) byBucket.set(bucket, [id]);
      else group.push(id);
    }
    for (const [bucket, group] of byBucket) {
      while (group.length > 0) await this.#ask(bucket, group.splice(0, this.#size.max));
    }
  }

  async #ask(bucket: number, ids: readonly string[]): Promise<void> {
    const wantResult = ids.map((id) => [...(this.#waiting.get(id) ?? [])].some((waiting) => waiting.wantResult));
    const asked = new Map(ids.map((id, i) => [id, wantResult[i] === true]));
    const query = { bucket, ids, wantResult };
    const rows = await this.#size.measured(ids.length, () => this.#options.run(findEndedRuns, query));
    for (const row of rows) {
      if (row.state === null) {
        this.#settle(row.id, (waiting) => waiting.reject(new RunNotFoundError(row.id)));
      } else {
        // One that came while the query was under way and wants the result, which this row doesn't have, waits for the next.
        this.#settle(
          row.id,
          (waiting) => waiting.resolve(row),
          (waiting) => !waiting.wantResult || asked.get(row.id) === true,
        );
      }
    }
  }

  #settle(runId: string, settle: (waiting: Waiting) => void, fits: (waiting: Waiting) => boolean = () => true): void {
    // A set may be changed while it is walked.
    for (const waiting of this.#waiting.get(runId) ?? []) {
      if (!fits(waiting)) {
        this.#due.add(runId);
        continue;
      }
      this.#remove(runId, waiting);
      settle(waiting);
    }
  }
}
