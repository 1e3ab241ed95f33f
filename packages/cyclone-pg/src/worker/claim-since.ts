import type { Lanes } from "../engine/claim/lanes.ts";

/** A claim of everything that took longer is followed by claims of what is recent. */
const SLOW_MS = 50;
/** So many times as long as it took nothing older is asked for, and no longer than that. */
const REST = 10;
const REST_MAX_MS = 10_000;
/** Transactions that take no longer than that before they commit lose nothing by it. */
const SLACK_MS = 5_000;

const EVER = "-infinity";

/** A claim, and what came of it. */
export interface Claimed {
  readonly bucket: number;
  readonly lanes: Lanes;
  /** Since when each lane was asked for. */
  readonly since: readonly string[];
  readonly rows: readonly { readonly queue: string; readonly waited_ms: number }[];
  /** It got all that it asked for, so that there may be more. */
  readonly isFull: boolean;
  readonly tookMs: number;
  /** When it was asked, by the database's clock. */
  readonly askedMs: number;
}

/**
 * Since when steps of a queue are asked for. While some other session holds an old snapshot no claimed row can be removed from the index of
 * available ones: a claim that begins at the oldest entry walks over all that was claimed since, and takes longer and longer. So once a claim of
 * everything is slow, the next ones begin where it found the queue's first step, or where there was nothing more; another one of everything
 * follows after ten times as long as it took. What is committed late, or is older and of lower priority, waits for that one, for ten
 * seconds at most.
 */
export class ClaimSince {
  readonly #recent = new Map<string, { readonly since: string; readonly until: number }>();

  /** For the next claim of a queue. */
  of(bucket: number, queue: string): string {
    const known = this.#recent.get(`${bucket} ${queue}`);
    return known !== undefined && performance.now() < known.until ? known.since : EVER;
  }

  claimed({ bucket, lanes, since, rows, isFull, tookMs, askedMs }: Claimed): void {
    if (tookMs <= SLOW_MS) return;
    const until = performance.now() + Math.min(REST_MAX_MS, REST * tookMs);
    for (const queue of new Set(lanes.queues)) {
      const lane = lanes.queues.indexOf(queue);
      if (since[lane] !== EVER) continue;
      const waits = rows.filter((row) => row.queue === queue).map((row) => row.waited_ms);
      const mayHaveMore = isFull || waits.length >= (lanes.quotas[lane] ?? 0);
      // Of a full claim that took none of the queue's nothing is known.
      if (isFull && waits.length === 0) continue;
      const from = askedMs - (mayHaveMore ? Math.max(...waits) : 0) - SLACK_MS;
      this.#recent.set(`${bucket} ${queue}`, { since: new Date(from).toISOString(), until });
    }
  }
}
