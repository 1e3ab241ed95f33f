import { CLIENT_READER, type ReadableClient } from "../client/run-handle.ts";
import { countLiveSteps } from "../sql/read/count-live-steps.ts";

/** What one queue holds of one step or action, over all processes. */
export interface QueueFigures {
  readonly queue: string;
  /** Empty for control nodes. */
  readonly step: string;
  readonly available: number;
  readonly scheduled: number;
  readonly running: number;
  /** For how long the one has been available that has been so longest; `null`: none is. */
  readonly oldestAvailableMs: number | null;
}

/** Of each state so many are counted over all buckets: what is more isn't told apart, and costs nothing. */
const COUNT_MAX = 100_000;

/** Asks the database; the time that takes is bounded, whatever the tables hold. */
export async function queueFigures(client: ReadableClient): Promise<QueueFigures[]> {
  const reader = client[CLIENT_READER];
  const bucketCount = await reader.bucketCount();
  const limit = Math.ceil(COUNT_MAX / bucketCount);
  const figures = new Map<string, QueueFigures>();
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    for (const { queue, step, state, count, oldest_ms } of await reader.run(countLiveSteps, { bucket, limit })) {
      const key = JSON.stringify([queue, step]);
      const before = figures.get(key) ?? none(queue, step ?? "");
      figures.set(key, {
        ...before,
        [state]: before[state] + count,
        oldestAvailableMs:
          oldest_ms === null ? before.oldestAvailableMs : Math.max(before.oldestAvailableMs ?? 0, oldest_ms),
      });
    }
  }
  return [...figures.values()];
}

function none(queue: string, step: string): QueueFigures {
  return { queue, step, available: 0, scheduled: 0, running: 0, oldestAvailableMs: null };
}
