import type { NodeHandle } from "../builder/run.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import type { NodeState } from "../model/states.ts";
import { type ReadNodeRow, readNode } from "../sql/read/read-node.ts";
import { readRun } from "../sql/read/read-run.ts";

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

  async #read(): Promise<ReadNodeRow> {
    const { run, bucket, runId } = await this.#place();
    const [row] = await run(readNode, { bucket, runId, node: this.name });
    if (row !== undefined) return row;
    const [found] = await run(readRun, { bucket, id: runId, wantResult: false });
    if (found === undefined) throw new RunNotFoundError(runId);
    throw new InvalidOptionError("node", `Run ${runId} has no node named "${this.name}": nodes() lists those it has.`);
  }
}
