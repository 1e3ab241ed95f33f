import type { Pool } from "pg";
import { BatchSize } from "../db/batch-size.ts";
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

/** A round comes at least once a minute; every other one is left out while handlers crowd the pool. */
const EVERY_MAX_MS = 40_000;
const EVERY_MIN_MS = 250;
const JITTER = 0.3;
const LIMIT_MAX = 500;
/** A batch that took longer is followed by a smaller one. */
const BATCH_MS = 200;
/** So many runs that are kept are looked at in a round, which goes on from there in the next one. */
const KEPT_MAX = 20_000;

interface Walk {
  readonly own: boolean;
  cursor: TrimCursor;
  readonly size: BatchSize;
}

/** Trims what has been kept for long enough: in small batches, each a transaction, walking from the oldest run on. Every worker does it. */
export class Trimmer {
  readonly #options: TrimmerOptions;
  readonly #run: RunStatement;
  readonly #walks: readonly { readonly bucket: number; readonly walks: readonly Walk[] }[];
  #timer: LongTimeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  /** The last round was left out, for handlers' sake. */
  #leftOut = false;

  constructor(options: TrimmerOptions) {
    this.#options = options;
    const runner = limited(options.pool, STATEMENT_LIMIT_MS);
    this.#run = (statement, params) => execute(runner, options.tables, statement, params);
    this.#walks = Array.from({ length: options.bucketCount }, (_, bucket) => ({
      bucket,
      walks: [false, true].map((own) => ({ own, cursor: TRIM_START, size: new BatchSize(LIMIT_MAX, BATCH_MS) })),
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
    this.#leftOut = this.#crowded() && !this.#leftOut;
    const round = this.#leftOut ? [] : this.#walks;
    try {
      for (const { bucket, walks } of round) {
        for (const walk of walks) await this.#walk(bucket, walk);
      }
    } catch (error) {
      this.#options.reports.trouble(error);
    }
    this.#schedule(1 + Math.random() * JITTER);
  }

  /** From the oldest run, or where the last round broke off, to the youngest that may be due. */
  async #walk(bucket: number, walk: Walk): Promise<void> {
    let kept = 0;
    do {
      if (this.#stopped) return;
      const limit = walk.size.max;
      const { seen, trimmed, last_created_at: createdAt, last_id: id } = await this.#batch(bucket, walk, limit);
      if (trimmed > 0) this.#options.log.debug(`${trimmed} run(s) trimmed.`);
      const ended = seen < limit;
      walk.cursor = ended ? TRIM_START : { createdAt, id };
      if (ended) return;
      kept += seen - trimmed;
    } while (!this.#crowded() && kept < KEPT_MAX);
  }

  /** Handlers come first: while one waits for a connection, or all are lent, every other round is left out, and walks of the others are of one batch. */
  #crowded(): boolean {
    const { pool } = this.#options;
    return pool.waitingCount > 0 || (pool.idleCount === 0 && pool.totalCount >= pool.options.max);
  }

  async #batch(bucket: number, { own, cursor: after, size }: Walk, limit: number): Promise<TrimRunsRow> {
    const { retentionMs } = this.#options;
    const [row] = await size.measured(limit, () =>
      own
        ? this.#run(trimRunsByOwnRetention, { bucket, retentionMs: 0, limit, after })
        : this.#run(trimRuns, { bucket, retentionMs, limit, after }),
    );
    return row ?? { trimmed: 0, seen: 0, last_created_at: 0, last_id: "" };
  }
}
