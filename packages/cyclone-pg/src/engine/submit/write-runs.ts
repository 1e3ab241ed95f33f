import type { Statement } from "../../sql/statement.ts";
import type { DepRow, RunRow, StepRow, SubmitParams } from "../../sql/submit/rows.ts";
import { submitKeyedRuns } from "../../sql/submit/submit-keyed-runs.ts";
import { submitRuns } from "../../sql/submit/submit-runs.ts";
import type { SubmitBatch } from "./batches.ts";

// submit: – → available (no upstream), scheduled (no upstream, but a delay), pending.
// One transaction, ours or the caller's: a crash at any point leaves nothing of it. New rows only, so nothing is locked but
// idempotency keys, which are taken in the order of the batch.

/** Runs a statement within the submit's transaction. */
export type RunInTransaction = <Params, Row>(statement: Statement<Params, Row>, params: Params) => Promise<Row[]>;

/** When root nodes start; at most one is set. */
export interface StartTime {
  readonly delayMs: number | null;
  readonly startAt: string | null;
}

/** Writes the batches of one submit; knows which keyed runs turned out to be new, also over several batches. */
export class RunWriter {
  readonly #run: RunInTransaction;
  readonly #start: StartTime;
  readonly #keyed: boolean;
  /** Ids of keyed runs that were inserted by this submit. */
  readonly inserted = new Set<string>();

  /** @param keyed whether the runs of this submit have idempotency keys: all of them, or none */
  constructor(run: RunInTransaction, start: StartTime, keyed: boolean) {
    this.#run = run;
    this.#start = start;
    this.#keyed = keyed;
  }

  async write(batch: SubmitBatch): Promise<void> {
    if (this.#keyed) await this.#writeKeyed(batch);
    else await this.#run(submitRuns, this.#params(batch.bucket, batch.runs, batch.steps, batch.deps));
  }

  async #writeKeyed(batch: SubmitBatch): Promise<void> {
    const here = new Set(batch.runs.map((run) => run.id));
    const of = <Row extends { runId: string }>(rows: readonly Row[], ids: ReadonlySet<string>): Row[] =>
      rows.filter((row) => ids.has(row.runId));
    // Nodes that continue a run of an earlier batch, if that run was new.
    const steps = of(batch.steps, this.inserted);
    const deps = of(batch.deps, this.inserted);
    if (steps.length + deps.length > 0) await this.#run(submitRuns, this.#params(batch.bucket, [], steps, deps));
    if (batch.runs.length === 0) return;
    const rows = await this.#run(
      submitKeyedRuns,
      this.#params(batch.bucket, batch.runs, of(batch.steps, here), of(batch.deps, here)),
    );
    for (const row of rows) this.inserted.add(row.id);
  }

  #params(bucket: number, runs: readonly RunRow[], steps: readonly StepRow[], deps: readonly DepRow[]): SubmitParams {
    return { bucket, runs, steps, deps, ...this.#start };
  }
}
