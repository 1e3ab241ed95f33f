import type { Pool } from "pg";
import { execute, limited } from "../db/execute.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import type { Logger } from "../model/logger.ts";
import { trimRuns } from "../sql/sweep/trim-runs.ts";
import { trimRunsByOwnRetention } from "../sql/sweep/trim-runs-by-own-retention.ts";
import { TRIM_START, type TrimCursor, type TrimRunsRow } from "../sql/sweep/trim-text.ts";
import type { Tables } from "../sql/tables.ts";
import { type LongTimeout, setLongTimeout } from "./long-timeout.ts";
import type { WorkerReports } from "./worker-reports.ts";

export interface TrimmerOptions {
  readonly pool: Pool;
  readonly tables: Tables;
  readonly bucketCount: number;
  readonly retentionMs: number;
  readonly log: Logger;
  readonly reports: Pick<WorkerReports, "trouble">;
}

const STATEMENT_LIMIT_MS = 10_000;

/** A round comes at least once a minute. */
const EVERY_MAX_MS = 40_000;
const EVERY_MIN_MS = 250;
const JITTER = 0.3;
const LIMIT_MAX = 500;
/** A batch that took longer is followed by a smaller one. */
const BATCH_MS = 200;
/** After so many rounds that were left out for handlers' sake one takes place all the same. */
const LEFT_OUT_MAX = 1;
/** So many runs that are kept are looked at in a round, which goes on from there in the next one. */
const KEPT_MAX = 20_000;

interface Walk {
  readonly own: boolean;
  cursor: TrimCursor;
  limit: number;
}

/** Trims what has been kept for long enough: in small batches, each a transaction, walking from the oldest run on. Every worker does it. */
export class Trimmer {
  readonly #options: TrimmerOptions;
  readonly #run: RunStatement;
  readonly #walks: readonly { readonly bucket: number; readonly walks: readonly Walk[] }[];
  #timer: LongTimeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #leftOut = 0;

  constructor(options: TrimmerOptions) {
    this.#options = options;
    const runner = limited(options.pool, STATEMENT_LIMIT_MS);
    this.#run = (statement, params) => execute(runner, options.tables, statement, params);
    this.#walks = Array.from({ length: options.bucketCount }, (_, bucket) => ({
      bucket,
      walks: [false, true].map((own) => ({ own, cursor: TRIM_START, limit: LIMIT_MAX })),
    }));
  }

  start(): void {
    this.#schedule(Math.random());
  }

  /** No further batch begins. */
  quit(): void {
    this.#stopped = true;
    this.#timer?.clear();
  }

  /** Resolves when the batch under way has ended. */
  async stop(): Promise<void> {
    this.quit();
    await this.#running;
  }

  #schedule(share: number): void {
    if (this.#stopped) return;
    const everyMs = Math.min(EVERY_MAX_MS, Math.max(EVERY_MIN_MS, this.#options.retentionMs / 2));
    this.#timer = setLongTimeout(() => {
      this.#running = this.#round();
    }, everyMs * share);
  }

  async #round(): Promise<void> {
    const patient = this.#leftOut < LEFT_OUT_MAX;
    this.#leftOut = patient && this.#crowded() ? this.#leftOut + 1 : 0;
    try {
      for (const { bucket, walks } of this.#walks) {
        for (const walk of walks) await this.#walk(bucket, walk, patient);
      }
    } catch (error) {
      this.#options.reports.trouble(error);
    }
    this.#schedule(1 + Math.random() * JITTER);
  }

  /** From the oldest run, or where the last round broke off, to the youngest that may be due. */
  async #walk(bucket: number, walk: Walk, patient: boolean): Promise<void> {
    let kept = 0;
    let waits = patient;
    while (!this.#stopped && !(waits && this.#crowded()) && kept < KEPT_MAX) {
      waits = true;
      const { limit } = walk;
      const { seen, trimmed, last_created_at: createdAt, last_id: id } = await this.#batch(bucket, walk);
      if (trimmed > 0) this.#options.log.debug(`${trimmed} run(s) trimmed.`);
      const ended = seen < limit;
      walk.cursor = ended ? TRIM_START : { createdAt, id };
      if (ended) return;
      kept += seen - trimmed;
    }
  }

  /** Handlers come first: while one waits for a connection, or all are lent, nothing is trimmed, but for a batch now and then. */
  #crowded(): boolean {
    const { pool } = this.#options;
    return pool.waitingCount > 0 || (pool.idleCount === 0 && pool.totalCount >= pool.options.max);
  }

  async #batch(bucket: number, walk: Walk): Promise<TrimRunsRow> {
    const { retentionMs } = this.#options;
    const { limit, cursor: after } = walk;
    const began = performance.now();
    // Should it fail, for want of time say, the next one is smaller.
    walk.limit = Math.max(1, limit >> 1);
    const [row] = walk.own
      ? await this.#run(trimRunsByOwnRetention, { bucket, retentionMs: 0, limit, after })
      : await this.#run(trimRuns, { bucket, retentionMs, limit, after });
    if (performance.now() - began < BATCH_MS) walk.limit = Math.min(LIMIT_MAX, limit * 2);
    return row ?? { trimmed: 0, seen: 0, last_created_at: 0, last_id: "" };
  }
}
