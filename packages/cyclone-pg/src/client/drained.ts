import { setTimeout as delay } from "node:timers/promises";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { DrainTimeoutError } from "../errors/drain-timeout-error.ts";
import { look } from "../sql/sweep/look.ts";
import type { Worker } from "../worker/worker.ts";
import type { ResolvedClientOptions } from "./options.ts";

const LOOK_GAP_MS = 20;

export interface DrainOptions extends Pick<ResolvedClientOptions, "queues" | "steps"> {
  readonly run: RunStatement;
  readonly bucketCount: number;
  readonly worker: Worker;
  readonly timeoutMs: number;
  /** @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`) */
  readonly refuseWhenStopped: () => void;
}

/** Resolves once a worker is idle and there is nothing in the database that it could do now. @throws DrainTimeoutError (`CYCLONE_DRAIN_TIMEOUT`) */
export async function drained(options: DrainOptions): Promise<void> {
  const { run, bucketCount, worker, timeoutMs, queues, steps } = options;
  const params = { queues: [...queues.keys()], steps: [...steps.keys()], unactivatedAfterMs: 0 };
  const until = performance.now() + timeoutMs;
  for (;;) {
    options.refuseWhenStopped();
    if (performance.now() > until) throw new DrainTimeoutError(timeoutMs);
    if (worker.idle && (await nothingLeft(run, bucketCount, params)) && worker.idle) return;
    worker.wake();
    await delay(LOOK_GAP_MS);
  }
}

async function nothingLeft(
  run: RunStatement,
  bucketCount: number,
  params: { queues: string[]; steps: string[]; unactivatedAfterMs: number },
): Promise<boolean> {
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const [seen] = await run(look, { bucket, ...params });
    if (seen !== undefined && (seen.available || seen.due || seen.unactivated || seen.overdue)) return false;
  }
  return true;
}
