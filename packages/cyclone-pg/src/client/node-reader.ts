import type { AttemptInfo, NodeHandle } from "../builder/run.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import type { AttemptOutcome, NodeState } from "../model/states.ts";
import type { StoredError } from "../model/stored-error.ts";
import { type ReadAttemptsRow, readAttempts } from "../sql/read/read-attempts.ts";
import { type ReadNodeRow, readNode } from "../sql/read/read-node.ts";
import { readRun } from "../sql/read/read-run.ts";

const ATTEMPTS_MAX = 1_000;

interface Place {
  readonly run: RunStatement;
  readonly bucket: number;
  readonly runId: string;
}

/** A handle on one node of a run. */
export class NodeReader implements NodeHandle {
  readonly name: string;
  readonly #place: () => Promise<Place>;

  constructor(name: string, place: () => Promise<Place>) {
    this.name = name;
    this.#place = place;
  }

  async state(): Promise<NodeState> {
    return (await this.#read()).state as NodeState;
  }

  async input(): Promise<unknown> {
    const row = await this.#read();
    return row.has_input ? row.input : undefined;
  }

  async output(): Promise<unknown> {
    const row = await this.#read();
    return row.has_output ? row.output : undefined;
  }

  async attempts(): Promise<AttemptInfo[]> {
    const place = await this.#place();
    const { run, bucket, runId } = place;
    const rows = await run(readAttempts, { bucket, runId, node: this.name, limit: ATTEMPTS_MAX });
    if (rows.length === 0) return this.#refuse(place);
    return rows
      .filter((row) => row.epoch !== null)
      .map(attemptInfo)
      .reverse();
  }

  async #read(): Promise<ReadNodeRow> {
    const place = await this.#place();
    const [row] = await place.run(readNode, { bucket: place.bucket, runId: place.runId, node: this.name });
    return row ?? this.#refuse(place);
  }

  /** Says what there isn't: the run, or the node. */
  async #refuse({ run, bucket, runId }: Place): Promise<never> {
    const [found] = await run(readRun, { bucket, id: runId, wantResult: false });
    if (found === undefined) throw new RunNotFoundError(runId);
    throw new InvalidOptionError("node", `Run ${runId} has no node named "${this.name}": nodes() lists those it has.`);
  }
}

function attemptInfo(row: ReadAttemptsRow): AttemptInfo {
  return {
    attempt: row.attempt ?? 0,
    epoch: row.epoch ?? 0,
    worker: row.worker,
    startedAt: row.started_ms === null ? null : new Date(row.started_ms),
    finishedAt: new Date(row.finished_ms ?? Number.NaN),
    outcome: row.outcome as AttemptOutcome,
    error: row.error as StoredError | null,
  };
}
