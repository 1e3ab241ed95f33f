import { setTimeout as delay } from "node:timers/promises";
import { BatchSize } from "../db/batch-size.ts";
import { errorCode, isTransient } from "../db/database-errors.ts";
import type { Session } from "../db/session.ts";
import { type ClaimedStep, claimedStep } from "../engine/claim/claimed-step.ts";
import { type Lanes, lanesOf } from "../engine/claim/lanes.ts";
import { type ClaimedRow, type ClaimStepsParams, claimSteps, type NothingClaimed } from "../sql/claim/claim-steps.ts";
import type { Isolation } from "../sql/isolation.ts";
import { ClaimSince, isEver, isWhole } from "./claim-since.ts";
import type { Quarantine } from "./quarantine.ts";
import { SignalFlag } from "./signal-flag.ts";

export interface ClaimLoopOptions {
  readonly session: Session;
  readonly owner: string;
  readonly leaseMs: number;
  readonly bucketCount: number;
  readonly inputBytesMax: number;
  readonly quarantine: Quarantine;
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  /** Slots that a claimed step could take at once. */
  readonly freeSlots: () => number;
  readonly freeSlotsOf: (queue: string) => number;
  readonly onClaimed: (steps: readonly ClaimedStep[]) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface Taken {
  /** Whether all that is available was asked for. */
  readonly ofAll: boolean;
  readonly lanes: Lanes;
  /** As the statement tells it. */
  readonly seen: number;
  readonly rows: ClaimedRow[];
}

const NOTHING_TAKEN: Taken = { lanes: { queues: [], steps: [], quotas: [], sole: [] }, ofAll: true, seen: 0, rows: [] };

const CLAIM_MAX = 1_000;
/** A claim that took longer is followed by a smaller one. */
const CLAIM_MS = 1_000;
const BYTES_PER_MS = 1_000;
/** program_limit_exceeded: a value of more than 256 MB. */
const TOO_LARGE = "54000";
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * Claims what the free slots can take, and nothing more: there is no queue in memory. It goes on while claims find something, then
 * sleeps until it is woken: by this process's own submits and completions, by a notification, by the poll; by a slot only where
 * the last claim may have left something for want of one.
 */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #flag = new SignalFlag();
  readonly #stop = new AbortController();
  #stopped = false;
  #claiming = false;
  /** The buckets whose last claim didn't take all there was, or couldn't tell. */
  readonly #unfinished = new Set<number>();
  /** The buckets whose last claim got less than it saw. */
  readonly #contended = new Set<number>();
  /** Wakes this loop when a queue is to be claimed of from its beginning again. */
  readonly #since = new ClaimSince(() => this.#flag.raise());
  /** How many steps a claim may ask for: inputs may be large. */
  readonly #size = new BatchSize(CLAIM_MAX, CLAIM_MS);
  /** A claim of a single step took too long: the next may take as long as the largest input does. */
  #patient = false;
  #turn = 0;
  /** Which queue and step come first; moves only when a claim has found something, so that each has its turn. */
  #laneTurn = 0;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  /** Whether a claim is under way. */
  get claiming(): boolean {
    return this.#claiming;
  }

  start(): void {
    this.#flag.raise();
    this.#running = this.#loop();
  }

  /** There may be something to claim. */
  wake(): void {
    this.#flag.raise();
  }

  /** There is room for one more: a slot has become free, or an outcome has been recorded. */
  roomFreed(): void {
    if (this.#unfinished.size > 0) this.#flag.raise();
  }

  /** No further claim begins; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stop.abort();
    this.#since.stop();
    this.#flag.raise();
    await this.#running;
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      await this.#flag.taken();
      while (!this.#stopped && (await this.#round()));
    }
  }

  /** One claim in each bucket; tells whether it is worth another. */
  async #round(): Promise<boolean> {
    const { bucketCount } = this.#options;
    let more = false;
    this.#turn += 1;
    for (let i = 0; i < bucketCount && !this.#stopped; i++) {
      const bucket = (this.#turn + i) % bucketCount;
      try {
        more = (await this.#claim(bucket)) || more;
        this.#failures = 0;
      } catch (error) {
        await this.#rest(error);
        return true;
      }
    }
    return more;
  }

  async #claim(bucket: number): Promise<boolean> {
    const options = this.#options;
    const limit = Math.min(options.freeSlots(), this.#size.max);
    this.#unfinished.add(bucket);
    if (limit <= 0) return false; // a slot that becomes free wakes the loop
    this.#claiming = true;
    try {
      let last = NOTHING_TAKEN;
      const rows = await options.quarantine.run(bucket, "available", limit, async (isolation, room) => {
        last = await this.#take(bucket, room, isolation);
        return last.rows;
      });
      const { seen, ofAll } = last;
      if (
        ofAll &&
        rows.length < limit &&
        rows.length >= seen &&
        options.queues.every((queue) => isWhole(queue, last.lanes, rows))
      )
        this.#unfinished.delete(bucket);
      // Others were quicker with what was seen, and what they left may be in another lane: once more, not for ever, since a row may be locked.
      if (rows.length < Math.min(seen, limit) && !this.#contended.has(bucket)) {
        this.#contended.add(bucket);
        return true;
      }
      this.#contended.delete(bucket);
      // With several queues each had only its share, so that there may be more.
      return rows.length >= limit || (options.queues.length > 1 && rows.length > 0);
    } finally {
      this.#claiming = false;
    }
  }

  /** One claim of up to `limit` steps, which take their slots at once. */
  async #take(bucket: number, limit: number, isolation: Isolation): Promise<Taken> {
    const { owner, leaseMs, inputBytesMax, queues, steps, freeSlotsOf, onClaimed } = this.#options;
    const lanes = lanesOf(queues, steps, limit, freeSlotsOf, this.#laneTurn);
    if (lanes.queues.length === 0) return NOTHING_TAKEN;
    const since = this.#since.of(bucket, lanes);
    const answer = await this.#ask({ bucket, ...lanes, since, limit, owner, leaseMs, inputBytesMax, isolation });
    const rows = answer.filter((row) => row.run_id !== null);
    // One of a few runs alone tells nothing of the others.
    if (isolation.only === null) this.#since.claimed({ bucket, lanes, since, limit, answer });
    if (rows.length > 0) {
      this.#laneTurn += 1;
      onClaimed(rows.map((row) => claimedStep(bucket, row)));
    }
    return { lanes, ofAll: since.every(isEver), seen: answer[0]?.seen ?? 0, rows };
  }

  /** Asks, within a time; what one input refers to may be more than the database can put together, which discards that step. */
  async #ask(claim: ClaimStepsParams): Promise<(ClaimedRow | NothingClaimed)[]> {
    const { limit, inputBytesMax } = claim;
    const extraMs = this.#patient ? inputBytesMax / BYTES_PER_MS : 0;
    try {
      const answer = await this.#size.measured(limit, () => this.#options.session.run(claimSteps, claim, extraMs));
      this.#patient = false;
      return answer;
    } catch (error) {
      this.#patient = limit === 1 && isTransient(error);
      if (claim.isolation.only === null || errorCode(error) !== TOO_LARGE) throw error;
      if (limit > 1) return this.#ask({ ...claim, limit: 1 });
      if (inputBytesMax > 0) return this.#ask({ ...claim, inputBytesMax: 0 });
      throw error;
    }
  }

  async #rest(error: unknown): Promise<void> {
    this.#options.onTrouble(error);
    const patience = isTransient(error) ? RETRY_MIN_MS : RETRY_MAX_MS;
    const delayMs = Math.min(RETRY_MAX_MS, patience * 2 ** Math.min(this.#failures, 10)) * (0.5 + Math.random() / 2);
    await delay(delayMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    this.#failures += 1;
  }
}
