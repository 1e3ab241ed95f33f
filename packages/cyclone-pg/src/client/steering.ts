import { setTimeout as delay } from "node:timers/promises";
import type { EndedRun } from "../engine/outcome.ts";
import { type Counted, cancelRuns, countCompletions, type RunPlace } from "../engine/steer/cancel-run.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import { RunNotRetryableError } from "../errors/run-not-retryable-error.ts";
import type { RunState } from "../model/states.ts";
import { storableText } from "../model/stored-error.ts";
import { readRun } from "../sql/read/read-run.ts";
import { retryRun } from "../sql/steer/retry-run.ts";
import type { Statements } from "./statements.ts";

export interface SteeringOptions {
  readonly statements: Statements;
  /** Runs have ended by what this client did. */
  readonly onEnded: (runs: readonly EndedRun[]) => void;
  /** Nodes have become available. */
  readonly onAvailable: () => void;
}

const PAUSE_MS = 10;
const REASON_BYTES_MAX = 1_024;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function cancelReason(reason: unknown): string | null {
  if (reason === undefined) return null;
  if (typeof reason !== "string") throw new InvalidOptionError("reason", "the reason of a cancel must be a text");
  return storableText(reason, REASON_BYTES_MAX);
}

/** Cancels and retries runs. What stands between (the last completion is committed, and not yet counted) is finished first. */
export class Steering {
  readonly #options: SteeringOptions;

  constructor(options: SteeringOptions) {
    this.#options = options;
  }

  /** @returns the state after it, and whether it is this call that has ended the run */
  async cancel(place: RunPlace, reason: string | null): Promise<{ readonly state: RunState; readonly ended: boolean }> {
    for (;;) {
      const left = await this.cancelMany(place.bucket, [place.runId], reason);
      if (left.length === 0) return { state: "cancelled", ended: true };
      const state = await this.#stateOf(place);
      if (state !== "running") return { state, ended: false };
      await this.#finish(place);
    }
  }

  /** Cancels some of a bucket's runs in one statement. @returns those that weren't ended by it: some have ended before */
  async cancelMany(bucket: number, runIds: readonly string[], reason: string | null): Promise<string[]> {
    const ended = await cancelRuns(this.#options.statements.run, bucket, runIds, reason);
    if (ended.length > 0) this.#options.onEnded(ended);
    const cancelled = new Set(ended.map(({ runId }) => runId));
    return runIds.filter((runId) => !cancelled.has(runId));
  }

  /** @throws RunNotRetryableError (`CYCLONE_RUN_NOT_RETRYABLE`) */
  async retry(place: RunPlace): Promise<void> {
    const { statements } = this.#options;
    for (;;) {
      let tries = 0;
      const [row] = await statements.retrying((attempt) => {
        tries = attempt;
        return statements.attempt(attempt, retryRun, place);
      });
      // After a lost reply an earlier try may have been carried out.
      const state = row === undefined ? await this.#stateOf(place) : "running";
      if (row !== undefined || (tries > 1 && state === "running")) {
        this.#options.onAvailable();
        return;
      }
      if (state === "running" || state === "completed") throw new RunNotRetryableError(place.runId, state);
      await this.#finish(place);
    }
  }

  async #stateOf({ bucket, runId }: RunPlace): Promise<RunState> {
    const [row] = await this.#options.statements.run(readRun, { bucket, id: runId, wantResult: false });
    if (row?.state === undefined || row.state === null) throw new RunNotFoundError(runId);
    return row.state;
  }

  async #finish(place: RunPlace): Promise<void> {
    const counted: Counted = await countCompletions(this.#options.statements.run, place);
    if (counted.ended.length > 0) this.#options.onEnded(counted.ended);
    if (counted.activated > 0) this.#options.onAvailable();
    else await delay(PAUSE_MS); // another one is about to count it
  }
}
