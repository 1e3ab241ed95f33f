import type { DefinitionRuntime } from "../builder/definition.ts";
import type { NodeHandle, NodeInfo, Run, RunGraph, RunOutcome, WaitControl } from "../builder/run.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { RunNotCompletedError } from "../errors/run-not-completed-error.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { bucketOf, isRunId } from "../model/run-id.ts";
import type { NodeKind, NodeState, RunState } from "../model/states.ts";
import type { StoredError } from "../model/stored-error.ts";
import type { EndedRunRow } from "../sql/read/find-ended-runs.ts";
import { readEdges } from "../sql/read/read-edges.ts";
import { type NodeRow, readNodes } from "../sql/read/read-nodes.ts";
import { type ReadRunRow, readRun } from "../sql/read/read-run.ts";
import { NodeReader } from "./node-reader.ts";
import { checkSignal, isSignal } from "./signal-option.ts";
import { cancelReason, type Steering } from "./steering.ts";
import type { Waiter } from "./waiter.ts";

/** A client lends its reader under this key to what the package offers beside it. */
export const CLIENT_READER: unique symbol = Symbol.for("cyclone-pg.client-reader");

/** All that figures need of a client. */
export interface ReadableClient {
  readonly [CLIENT_READER]: RunReader;
}

export interface RunReader {
  readonly run: RunStatement;
  readonly bucketCount: () => Promise<number>;
  readonly waiter: Waiter;
  /** Makes the driver's errors those that users are told. */
  readonly told: <T>(work: Promise<T>) => Promise<T>;
  readonly steering: Steering;
}

/** A handle on a run: an id, and what reads it. */
export class RunHandle<Out> implements Run<Out> {
  readonly id: string;
  readonly existing: boolean;
  readonly #reader: RunReader;
  readonly #definition: DefinitionRuntime | undefined;

  constructor(reader: RunReader, id: string, existing: boolean, definition: DefinitionRuntime | undefined) {
    this.#reader = reader;
    this.id = isRunId(id) ? id.toLowerCase() : id;
    this.existing = existing;
    this.#definition = definition;
  }

  async result(control?: WaitControl): Promise<Out> {
    const row = await this.#wait(true, signalOf(control, "result"));
    return this.#outputOf(row);
  }

  async wait(control?: WaitControl): Promise<RunOutcome> {
    const row = await this.#wait(false, signalOf(control, "wait"));
    return outcomeOf(row);
  }

  async output(): Promise<Out> {
    return this.#outputOf(await this.#read(true));
  }

  async state(): Promise<RunState> {
    return stateOf(await this.#read(false));
  }

  async nodes(): Promise<NodeInfo[]> {
    const rows = await this.#reader.run(readNodes, await this.#place());
    if (rows.length === 0) await this.#read(false); // a run without nodes, or none at all
    return rows.map(nodeInfo);
  }

  node(name: string): NodeHandle {
    return new NodeReader(name, async () => ({ run: this.#reader.run, ...(await this.#place()) }));
  }

  async graph(): Promise<RunGraph> {
    const place = await this.#place();
    const run = await this.#read(false);
    const [nodes, edges] = [await this.#reader.run(readNodes, place), await this.#reader.run(readEdges, place)];
    return {
      nodes: nodes.map(nodeInfo),
      edges: edges.map(({ upstream, node, data }) => ({ from: upstream, to: node, kind: data ? "data" : "order" })),
      result: run.result_node,
      resultPath: run.result_keys ?? [],
    };
  }

  async cancel(reason?: string): Promise<RunState> {
    const checked = cancelReason(reason);
    const { state } = await this.#reader.steering.cancel(await this.#place(), checked);
    return state;
  }

  async retry(): Promise<void> {
    await this.#reader.steering.retry(await this.#place());
  }

  async #place(): Promise<{ bucket: number; runId: string }> {
    if (!isRunId(this.id)) throw new RunNotFoundError(this.id);
    return { bucket: bucketOf(this.id, await this.#reader.bucketCount()), runId: this.id };
  }

  async #read(wantResult: boolean): Promise<ReadRunRow> {
    const { bucket } = await this.#place();
    const [row] = await this.#reader.run(readRun, { bucket, id: this.id, wantResult });
    if (row === undefined) throw new RunNotFoundError(this.id);
    this.#checkDefinition(row);
    return row;
  }

  async #wait(wantResult: boolean, signal: AbortSignal | undefined): Promise<EndedRunRow> {
    if (!isRunId(this.id)) throw new RunNotFoundError(this.id);
    const waiting = this.#reader.waiter.wait(this.id, wantResult, signal);
    const row = await waiting.catch((error: unknown) => {
      if (signal?.aborted === true && error === signal.reason) throw error; // the caller's own, whatever it says
      return this.#reader.told(waiting);
    });
    this.#checkDefinition(row);
    return row;
  }

  #outputOf(row: EndedRunRow): Out {
    const state = stateOf(row);
    if (state !== "completed")
      throw new RunNotCompletedError(this.id, state, errorOf(row), row.cancel_reason ?? undefined);
    // What the database holds is what the definition's types say: it was checked when it was stored.
    return (row.has_output ? row.output : undefined) as Out;
  }

  #checkDefinition(row: EndedRunRow): void {
    const definition = this.#definition;
    if (definition === undefined || (definition.kind === row.kind && definition.name === row.name)) return;
    throw new InvalidOptionError(
      "definition",
      `Run ${this.id} is a run of ${row.kind ?? "?"} "${row.name ?? "?"}", not of ${definition.kind} "${definition.name}": pass the definition that started it.`,
    );
  }
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
function signalOf(control: WaitControl | undefined, method: string): AbortSignal | undefined {
  if (control === undefined) return undefined;
  if (isSignal(control)) {
    throw new InvalidOptionError("signal", `${method} takes its signal by name: write ${method}({ signal })`);
  }
  rejectUnknownKeys(control, ["signal"], method);
  return checkSignal(control.signal, method);
}

function stateOf(row: EndedRunRow): RunState {
  return row.state ?? "running";
}

function outcomeOf(row: EndedRunRow): RunOutcome {
  const finishedAt = new Date(row.finished_ms ?? Number.NaN);
  const error = errorOf(row);
  switch (row.state) {
    case "failed":
      return { state: "failed", finishedAt, error: error ?? { name: "Error", message: "The run failed." } };
    case "cancelled":
      return {
        state: "cancelled",
        finishedAt,
        ...(error === undefined ? {} : { error }),
        ...(row.cancel_reason === null ? {} : { reason: row.cancel_reason }),
      };
    default:
      return { state: "completed", finishedAt };
  }
}

function errorOf(row: EndedRunRow): StoredError | undefined {
  return (row.error as StoredError | null) ?? undefined;
}

/** A node as readers give it. */
export function nodeInfo(row: NodeRow): NodeInfo {
  return {
    name: row.node,
    kind: row.kind as NodeKind,
    step: row.step,
    state: row.state as NodeState,
    attempt: row.attempts,
    reclaims: row.reclaims,
    error: row.state === "completed" ? null : (row.error as StoredError | null),
  };
}
