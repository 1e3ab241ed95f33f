import type { Lanes } from "../engine/claim/lanes.ts";
import type { ClaimedRow, NothingClaimed } from "../sql/claim/claim-steps.ts";

/** A claim of everything that took longer is followed by claims of what is recent. */
const SLOW_MS = 50;
/** So many times as long as it took nothing older is asked for, and no longer than that. */
const REST = 10;
const REST_MAX_MS = 10_000;
/** Transactions that take no longer than that before they commit lose nothing by it. */
const SLACK_MS = 5_000;

const EVER = "-infinity";

/** Whether a lane was asked for all that it has. */
export const isEver = (since: string): boolean => since === EVER;

/** A claim, and what came of it. */
export interface Claimed {
  readonly bucket: number;
  readonly lanes: Lanes;
  /** Since when each lane was asked for. */
  readonly since: readonly string[];
  readonly limit: number;
  readonly answer: readonly Told[];
}

type Told = Pick<ClaimedRow | NothingClaimed, "queue" | "waited_ms" | "asked_ms" | "took_ms">;

/** Whether a queue gave all that it has: it had lanes, and room for more than it gave. */
export function isWhole(queue: string, lanes: Lanes, rows: readonly { readonly queue: string | null }[]): boolean {
  const lane = lanes.queues.indexOf(queue);
  return lane >= 0 && rows.filter((row) => row.queue === queue).length < (lanes.quotas[lane] ?? 0);
}

/**
 * Since when steps of a queue are asked for. While some other session holds an old snapshot no claimed row can be removed from the index of
 * available ones: a claim that begins at the oldest entry visits all rows that were claimed since, and takes longer and longer. So once a claim of
 * everything is slow, the next ones ask for what isn't older than the first step that it found in the queue, or, where there was nothing more, than
 * the claim itself; another one of everything follows after ten times as long as it took, ten seconds at most. Till then what is older waits: steps of
 * lower priority, submits that took more than five seconds to commit, times in the past, a queue that was paused, rows that others had locked.
 */
export class ClaimSince {
  readonly #onEver: () => void;
  readonly #recent = new Map<string, { readonly since: string; readonly until: number; readonly hasMore: boolean }>();
  #wakeAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param onEver a queue is to be claimed of from its beginning again */
  constructor(onEver: () => void) {
    this.#onEver = onEver;
  }

  /** For the next claim, by lane. */
  of(bucket: number, { queues }: Lanes): string[] {
    const now = performance.now();
    return queues.map((queue) => {
      const known = this.#recent.get(`${bucket} ${queue}`);
      return known !== undefined && now < known.until ? known.since : EVER;
    });
  }

  claimed(claimed: Claimed): void {
    this.#forget(claimed);
    this.#remember(claimed);
  }

  /** Where more was known to be, a claim of what is recent that isn't full has found all that is: there is room for what is older. */
  #forget({ bucket, lanes, since, limit, answer }: Claimed): void {
    const rows = answer.filter((row) => row.queue !== null);
    if (rows.length >= limit) return;
    for (const [lane, queue] of lanes.queues.entries()) {
      const place = `${bucket} ${queue}`;
      if (isEver(since[lane] ?? EVER) || !isWhole(queue, lanes, rows) || this.#recent.get(place)?.hasMore !== true)
        continue;
      this.#recent.delete(place);
      this.#onEver();
    }
  }

  #remember({ bucket, lanes, since, limit, answer }: Claimed): void {
    const tookMs = Math.max(0, ...answer.map((row) => row.took_ms));
    const askedMs = answer[0]?.asked_ms;
    if (tookMs <= SLOW_MS || askedMs === undefined || this.#stopped) return;
    const restMs = Math.min(REST_MAX_MS, REST * tookMs);
    const until = performance.now() + restMs;
    const rows = answer.filter((row) => row.queue !== null);
    for (const [lane, queue] of lanes.queues.entries()) {
      if (lanes.queues.indexOf(queue) < lane || !isEver(since[lane] ?? EVER)) continue;
      const waits = rows.filter((row) => row.queue === queue).map((row) => row.waited_ms ?? 0);
      const hasMore = rows.length >= limit || !isWhole(queue, lanes, rows);
      // Of one that gave nothing, for want of room, nothing is known.
      if (hasMore && waits.length === 0) continue;
      const from = askedMs - (hasMore ? Math.max(...waits) : 0) - SLACK_MS;
      this.#recent.set(`${bucket} ${queue}`, { since: new Date(from).toISOString(), until, hasMore });
    }
    clearTimeout(this.#timer);
    this.#wakeAt = Math.max(this.#wakeAt, until);
    this.#timer = setTimeout(this.#onEver, this.#wakeAt - performance.now());
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
