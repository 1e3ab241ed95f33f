import { isTransient } from "../../db/database-errors.ts";
import type { Session } from "../../db/session.ts";
import { compareLeases, leaseArrays } from "../../engine/lease.ts";
import { renewLeases } from "../../sql/lease/renew-leases.ts";
import { reportProgress } from "../../sql/lease/report-progress.ts";
import { type LongTimeout, setLongTimeout } from "../long-timeout.ts";
import type { NumberedLease } from "./messages.ts";
import { renewalEveryMs, renewalRetryMs } from "./timing.ts";

export interface RenewalLoopOptions {
  readonly session: Session;
  readonly leaseMs: number;
  /** Whether the main loop has been stuck for so long that its leases are given up. */
  readonly givenUp: () => boolean;
  readonly onLost: (ids: number[], blocked: boolean) => void;
  /** Connected for the first time. */
  readonly onReady: () => void;
  readonly onFailure: (error: unknown) => void;
}

const BATCH_MAX = 1_000;
const RECONNECT_MS = 250;
/** Cancels may come by the hundred: what they ask for is done four times a second at most. */
const FORCED_GAP_MS = 250;

/**
 * Renews all leases of a worker every third of their length, one statement per bucket, on a connection of its own. It runs in the
 * renewal thread, or in the main loop where no thread can be had. A failure is tried again soon, well within the lease.
 */
export class RenewalLoop {
  readonly #options: RenewalLoopOptions;
  readonly #leases = new Map<number, NumberedLease>();
  readonly #progress = new Map<number, { fraction: number; message: string | null }>();
  #timer: LongTimeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  /** Asked for while a renewal, or a connect, was under way. */
  #wanted = false;
  #turnedAt = Number.NEGATIVE_INFINITY;
  /** What the timer will do. */
  #next: (() => Promise<void>) | undefined;
  /** The main loop was stuck for so long that its leases weren't renewed. */
  #gaveUp = false;

  constructor(options: RenewalLoopOptions) {
    this.#options = options;
  }

  /** Connects at once, so that the first lease can be renewed in time. */
  start(): void {
    this.#running = this.#connect();
  }

  add(leases: readonly NumberedLease[]): void {
    for (const lease of leases) this.#leases.set(lease.id, lease);
  }

  remove(ids: readonly number[]): void {
    for (const id of ids) {
      this.#leases.delete(id);
      this.#progress.delete(id);
    }
  }

  /** Written with the next renewal; only the last value counts. */
  progress(id: number, fraction: number, message: string | null): void {
    if (this.#leases.has(id)) this.#progress.set(id, { fraction, message });
  }

  /** At once, or again as soon as the renewal under way has ended. */
  renewNow(): void {
    if (this.#timer === undefined) this.#wanted = true;
    else this.#later(Math.max(0, this.#turnedAt + FORCED_GAP_MS - performance.now()), this.#next);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.clear();
    await this.#running;
    await this.#options.session.close();
  }

  #later(delayMs: number, next: () => Promise<void> = () => this.#turn()): void {
    if (this.#stopped) return;
    this.#next = next;
    this.#timer?.clear();
    this.#timer = setLongTimeout(
      () => {
        this.#timer = undefined;
        this.#wanted = false;
        this.#running = next();
      },
      this.#wanted ? Math.min(FORCED_GAP_MS, delayMs) : delayMs,
    );
  }

  async #connect(): Promise<void> {
    try {
      await this.#options.session.connect();
      this.#options.onReady();
      this.#later(renewalEveryMs(this.#options.leaseMs));
    } catch (error) {
      this.#options.onFailure(error);
      this.#later(RECONNECT_MS, () => this.#connect());
    }
  }

  async #turn(): Promise<void> {
    const { leaseMs } = this.#options;
    const began = performance.now();
    this.#turnedAt = began;
    try {
      if (this.#options.givenUp()) {
        this.#gaveUp = true;
      } else {
        await this.#renewAll();
        this.#gaveUp = false;
      }
      this.#later(Math.max(0, renewalEveryMs(leaseMs) - (performance.now() - began)));
    } catch (error) {
      this.#options.onFailure(error);
      this.#later(renewalRetryMs(leaseMs));
    }
  }

  async #renewAll(): Promise<void> {
    const byBucket = groupByBucket(this.#leases.values());
    for (const leases of byBucket.values()) {
      leases.sort(compareLeases);
      for (let i = 0; i < leases.length; i += BATCH_MAX) await this.#renew(leases.slice(i, i + BATCH_MAX));
    }
  }

  async #renew(batch: readonly NumberedLease[]): Promise<void> {
    const [row] = await this.#options.session.run(renewLeases, {
      ...leaseArrays(batch),
      leaseMs: this.#options.leaseMs,
    });
    const lost = (row?.lost ?? []).flatMap((place) => batch[place - 1]?.id ?? []);
    // One that was completed meanwhile has been removed, or will be ignored by the main loop.
    const stillHeld = lost.filter((id) => this.#leases.has(id));
    this.remove(stillHeld);
    if (stillHeld.length > 0) this.#options.onLost(stillHeld, this.#gaveUp);
    await this.#report(batch.filter((lease) => this.#progress.has(lease.id)));
  }

  async #report(leases: readonly NumberedLease[]): Promise<void> {
    if (leases.length === 0) return;
    const values = leases.map((lease) => this.#progress.get(lease.id));
    try {
      await this.#options.session.run(reportProgress, {
        ...leaseArrays(leases),
        fractions: values.map((value) => value?.fraction ?? 0),
        messages: values.map((value) => value?.message ?? null),
      });
    } catch (error) {
      if (isTransient(error)) throw error;
      // What the database refuses is dropped: leases of other batches may not run out for it.
      this.#options.onFailure(error);
    }
    for (const [i, lease] of leases.entries()) {
      if (this.#progress.get(lease.id) === values[i]) this.#progress.delete(lease.id);
    }
  }
}

function groupByBucket(leases: Iterable<NumberedLease>): Map<number, NumberedLease[]> {
  const groups = new Map<number, NumberedLease[]>();
  for (const lease of leases) {
    const group = groups.get(lease.bucket);
    if (group === undefined) groups.set(lease.bucket, [lease]);
    else group.push(lease);
  }
  return groups;
}
