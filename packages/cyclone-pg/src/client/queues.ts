import { setTimeout as delay } from "node:timers/promises";
import { PauseTimeoutError } from "../errors/pause-timeout-error.ts";
import type { QueueName } from "../model/cyclone-types.ts";
import { type Duration, toMilliseconds } from "../model/duration.ts";
import { checkName } from "../model/names.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { findClaiming } from "../sql/queue/find-claiming.ts";
import { listQueues } from "../sql/queue/list-queues.ts";
import { pauseQueue, type QueueParams } from "../sql/queue/pause-queue.ts";
import { resumeQueue } from "../sql/queue/resume-queue.ts";
import type { Statement } from "../sql/statement.ts";
import { countsBy, type LiveCounts, liveSteps, noneLive } from "./live-steps.ts";
import type { RunReader } from "./run-handle.ts";
import type { Statements } from "./statements.ts";

/** A queue as it stands. */
export interface QueueInfo extends Readonly<LiveCounts> {
  /** The queue. */
  readonly name: string;
  /** Whether workers leave it alone until it is resumed. */
  readonly paused: boolean;
}

export interface QueuesOptions {
  readonly reader: () => RunReader;
  readonly statements: Statements;
  /** The queues that this client claims from. */
  readonly served: readonly string[];
  /** A queue may be claimed again: workers want to know. */
  readonly onResumed: () => void;
}

const PAUSE_TIMEOUT = "10s";
/** Claims take milliseconds. */
const LOOK_GAP_MS = 10;

/** Lists queues, pauses and resumes them: for all workers, until it is said otherwise. */
export class Queues {
  readonly #options: QueuesOptions;

  constructor(options: QueuesOptions) {
    this.#options = options;
  }

  /**
   * All queues that have available, scheduled or running steps, that were ever paused, or that this client claims from, by name.
   * Counts stop at about 100,000 of each state, so that the time is bounded whatever the tables hold; `capped` says where. Nodes that wait for others
   * (pending) and those that have ended aren't counted. Not in a transaction of yours.
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  async list(): Promise<QueueInfo[]> {
    const reader = this.#options.reader();
    const counts = countsBy(await liveSteps(reader), (row) => row.queue);
    const paused = new Map([...this.#options.served, ...counts.keys()].map((name) => [name, false]));
    const bucketCount = await reader.bucketCount();
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      for (const row of await reader.run(listQueues, { bucket }))
        paused.set(row.name, row.paused || (paused.get(row.name) ?? false));
    }
    return [...paused]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, isPaused]) => ({ name, paused: isPaused, ...(counts.get(name) ?? noneLive()) }));
  }

  /**
   * Pauses a queue for all workers, also if nothing is in it yet. Once this has returned, nothing of the queue is claimed by anybody, until
   * {@link Queues.resume}; steps that are running go on to their end, retries and new submits wait in it. Pausing a paused queue is harmless. It waits
   * for the claims that are just under way (milliseconds), up to `timeout` ("10s"). A transaction of its own; it doesn't join yours.
   * @throws PauseTimeoutError (`CYCLONE_PAUSE_TIMEOUT`) if one of these doesn't end: the queue is paused all the same
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a name that no queue can have
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  async pause(queue: QueueName, options: { timeout?: Duration } = {}): Promise<void> {
    rejectUnknownKeys(options, ["timeout"], "queues.pause");
    const name = checkName(queue, "queue", "queue");
    const timeoutMs = toMilliseconds(options.timeout ?? PAUSE_TIMEOUT, "timeout");
    await this.#inEachBucket(pauseQueue, name);
    await this.#claimsEnded(name, timeoutMs);
  }

  /**
   * Lets a paused queue be claimed again, and wakes the workers. Resuming one that isn't paused is harmless. A transaction of its own; it doesn't
   * join yours.
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for a name that no queue can have
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  async resume(queue: QueueName): Promise<void> {
    await this.#inEachBucket(resumeQueue, checkName(queue, "queue", "queue"));
    this.#options.onResumed();
  }

  async #inEachBucket(statement: Statement<QueueParams, unknown>, name: string): Promise<void> {
    const { reader, statements } = this.#options;
    const bucketCount = await reader().bucketCount();
    await statements.retrying(() =>
      statements.transaction(async (run) => {
        for (let bucket = 0; bucket < bucketCount; bucket++) await run(statement, { bucket, name });
      }),
    );
  }

  /**
   * A claim whose snapshot is older than the pause doesn't see it. All of these are under way when the pause has been committed, so that
   * it is enough to see each of them end once.
   */
  async #claimsEnded(name: string, timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    let claiming = await this.#claiming(name);
    while (claiming.size > 0) {
      if (performance.now() > until) throw new PauseTimeoutError(name, timeoutMs);
      await delay(LOOK_GAP_MS);
      const now = await this.#claiming(name);
      claiming = new Set([...claiming].filter((transaction) => now.has(transaction)));
    }
  }

  async #claiming(name: string): Promise<Set<string>> {
    const rows = await this.#options.reader().run(findClaiming, { bucket: 0, name });
    return new Set(rows.map((row) => row.transaction));
  }
}
