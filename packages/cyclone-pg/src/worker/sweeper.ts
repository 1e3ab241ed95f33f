import { isTransient } from "../db/database-errors.ts";
import type { Session } from "../db/session.ts";
import type { StepPlace } from "../engine/claim/claimed-step.ts";
import type { EndedRun, Settlement } from "../engine/outcome.ts";
import { failOverdue } from "../engine/steer/fail-overdue.ts";
import { exhaustedPlace, exhaustedSettlement } from "../engine/sweep/exhausted.ts";
import { findOverdueRuns } from "../sql/steer/find-overdue-runs.ts";
import { findExhaustedSteps } from "../sql/sweep/find-exhausted-steps.ts";
import { findUnactivatedSteps } from "../sql/sweep/find-unactivated-steps.ts";
import { type LookRow, look } from "../sql/sweep/look.ts";
import { promoteSteps } from "../sql/sweep/promote-steps.ts";
import { type ReclaimedRow, reclaimSteps } from "../sql/sweep/reclaim-steps.ts";
import { type LongTimeout, setLongTimeout } from "./long-timeout.ts";
import type { Quarantine } from "./quarantine.ts";
import { reclaimGuardMs, silenceMaxMs } from "./renewal/timing.ts";

export interface SweeperOptions {
  readonly session: Session;
  readonly bucketCount: number;
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  readonly quarantine: Quarantine;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** There are available steps that this worker could claim. */
  readonly onAvailable: () => void;
  /** So many steps were promoted or reclaimed, of whatever name. */
  readonly onReleased: (count: number) => void;
  readonly onReclaimed: (rows: readonly ReclaimedRow[]) => void;
  /** For the recorder: discards of exhausted steps, activations that were missed. */
  readonly record: (settlement: Settlement, exhausted?: StepPlace) => void;
  /** Runs have failed by their deadline, or failed fast. */
  readonly onEnded: (runs: readonly EndedRun[]) => void;
  /** Nodes that others may be running were cancelled. */
  readonly onStopped: () => void;
  readonly onTrouble: (error: unknown) => void;
}

const PROMOTE_MAX = 1_000;
const RECLAIM_MAX = 100;
const ACTIVATE_MAX = 500;
const OVERDUE_MAX = 100;
const BATCHES_MAX = 10;
/** A completion's own worker activates what follows at once; older ones were missed. */
const UNACTIVATED_AFTER_MS = 2_000;
const DUE_AGAIN_MS = 100;
/** Polls of an idle worker are this much longer than asked, at random, so that workers don't move in step. */
const JITTER = 0.3;

/**
 * The poll: looks at each bucket by one statement, and does what is due. Every worker does it, again and again, whatever happened
 * before: promotion, reclaims, missed activations depend on no message and no timer of another process.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: LongTimeout | undefined;
  #nextAt = Number.POSITIVE_INFINITY;
  /** The earliest time that a step of ours asked for while a sweep was under way. */
  #wantedAt = Number.POSITIVE_INFINITY;
  readonly #guardMs: number;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#guardMs = reclaimGuardMs(options.leaseMs);
  }

  start(): void {
    this.#schedule(0);
  }

  /** A step of ours is due after so long: look then, if no poll comes before. */
  lookIn(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.#sweeping !== undefined) this.#wantedAt = Math.min(this.#wantedAt, at);
    else if (at < this.#nextAt) this.#schedule(delayMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.clear();
    await this.#sweeping;
  }

  /** One round over all buckets now. Never rejects: trouble is reported, and the next round tries again. */
  async #sweep(): Promise<void> {
    let nextMs = this.#options.pollMs * (1 + Math.random() * JITTER);
    for (let bucket = 0; bucket < this.#options.bucketCount && !this.#stopped; bucket++) {
      try {
        nextMs = Math.min(nextMs, await this.#sweepBucket(bucket));
      } catch (error) {
        this.#options.onTrouble(error);
        if (isTransient(error)) break; // what ails one bucket for good doesn't ail the others
      }
    }
    this.#sweeping = undefined;
    const wantedMs = this.#wantedAt - performance.now();
    this.#wantedAt = Number.POSITIVE_INFINITY;
    this.#schedule(Math.max(0, Math.min(nextMs, wantedMs)));
  }

  #schedule(delayMs: number): void {
    this.#timer?.clear();
    if (this.#stopped) return;
    this.#nextAt = performance.now() + delayMs;
    this.#timer = setLongTimeout(() => {
      this.#sweeping = this.#sweep();
    }, delayMs);
  }

  /** @returns in how many milliseconds the bucket's next scheduled step is due */
  async #sweepBucket(bucket: number): Promise<number> {
    const { session, queues, steps } = this.#options;
    const [seen] = await session.run(look, { bucket, queues, steps, unactivatedAfterMs: UNACTIVATED_AFTER_MS });
    if (seen === undefined) return Number.POSITIVE_INFINITY;
    const promoted = seen.due && (await this.#promote(bucket));
    const watchMs = seen.expired ? await this.#reclaimOrWatch(bucket) : Number.POSITIVE_INFINITY;
    if (seen.unactivated) await this.#activate(bucket);
    const ended = seen.overdue && (await this.#endOverdue(bucket));
    if (seen.available) this.#options.onAvailable();
    return Math.min(nextLookMs(seen, promoted || ended), watchMs);
  }

  /** @returns whether any was promoted */
  async #promote(bucket: number): Promise<boolean> {
    const { session, quarantine } = this.#options;
    let some = false;
    for (let i = 0; i < BATCHES_MAX; i++) {
      const rows = await quarantine.run(bucket, "due", PROMOTE_MAX, (isolation) =>
        session.run(promoteSteps, { bucket, limit: PROMOTE_MAX, isolation }),
      );
      const promoted = rows.reduce((sum, row) => sum + row.promoted, 0);
      if (promoted > 0) this.#options.onReleased(promoted);
      some ||= promoted > 0;
      if (promoted < PROMOTE_MAX) break;
    }
    return some;
  }

  async #reclaim(bucket: number): Promise<void> {
    const guardMs = this.#guardMs;
    const { session, quarantine } = this.#options;
    for (let i = 0; i < BATCHES_MAX; i++) {
      const rows = await quarantine.run(bucket, "expired", RECLAIM_MAX, (isolation) =>
        session.run(reclaimSteps, { bucket, limit: RECLAIM_MAX, guardMs, isolation }),
      );
      if (rows.length > 0) {
        this.#options.onReclaimed(rows);
        this.#options.onReleased(rows.length);
      }
      if (rows.length < RECLAIM_MAX) break;
    }
    const isolation = { only: null, excluded: quarantine.excluded() };
    for (const row of await session.run(findExhaustedSteps, { bucket, limit: RECLAIM_MAX, guardMs, isolation })) {
      this.#options.record(exhaustedSettlement(bucket, row), exhaustedPlace(row));
    }
  }

  async #activate(bucket: number): Promise<void> {
    const { session, quarantine } = this.#options;
    const isolation = { only: null, excluded: quarantine.excluded() };
    const rows = await session.run(findUnactivatedSteps, {
      bucket,
      limit: ACTIVATE_MAX,
      olderThanMs: UNACTIVATED_AFTER_MS,
      isolation,
    });
    for (const row of rows) {
      this.#options.record({
        lease: { bucket, runId: row.run_id, key: row.key, item: row.item, epoch: row.epoch },
        outcome: { kind: "committed" },
      });
    }
  }

  /**
   * One run after the other: each may have thousands of nodes, and one that the database refuses hurts no other.
   * @returns whether any was ended
   */
  async #endOverdue(bucket: number): Promise<boolean> {
    const { session, quarantine } = this.#options;
    const excluded = quarantine.excluded();
    const overdue = await session.run(findOverdueRuns, { bucket, limit: OVERDUE_MAX, excluded });
    const ended: EndedRun[] = [];
    for (const { id } of overdue) {
      if (this.#stopped) break;
      try {
        ended.push(...(await failOverdue((statement, params) => session.run(statement, params), bucket, id)));
      } catch (error) {
        if (isTransient(error)) throw error;
        quarantine.add(id, error);
      }
    }
    if (ended.length === 0) return false;
    this.#options.onEnded(ended);
    this.#options.onStopped();
    return true;
  }

  /**
   * Reclaims, if this worker has been connected for long enough.
   * @returns in how many milliseconds to look again: the time until it may is no silence, or it would begin anew each time
   */
  async #reclaimOrWatch(bucket: number): Promise<number> {
    const { session, leaseMs } = this.#options;
    const connectedMs = session.connectedAt === undefined ? 0 : performance.now() - session.connectedAt;
    if (connectedMs < this.#guardMs) return Math.min(Math.ceil(this.#guardMs - connectedMs), silenceMaxMs(leaseMs) / 2);
    await this.#reclaim(bucket);
    return Number.POSITIVE_INFINITY;
  }
}

function nextLookMs(seen: LookRow, moved: boolean): number {
  // What was due has been promoted or ended: what comes after it isn't known before the next look.
  if (moved) return DUE_AGAIN_MS;
  // What is due and wasn't moved is held by another worker, about to complete, or set aside.
  if (seen.next_due_ms === null || seen.due || seen.overdue) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.ceil(seen.next_due_ms));
}
