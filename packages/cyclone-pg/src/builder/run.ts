import type { AttemptOutcome, NodeKind, NodeState, RunState } from "../model/states.ts";
import type { StoredError } from "../model/stored-error.ts";

/**
 * A handle on a run; making one reads nothing. Reads are of what is committed, on a connection of the client's: a run that was started in a
 * transaction of the caller's is there once that has committed. Each rejects with ConnectionError (`CYCLONE_CONNECTION`) without a usable
 * connection, and with ClientStoppedError (`CYCLONE_CLIENT_STOPPED`) once the client has been stopped.
 */
export interface Run<out Out> {
  /** A UUIDv7, made by the client that started the run. */
  readonly id: string;
  /** Whether the start found a run with its idempotency key, and made none. */
  readonly existing: boolean;
  /**
   * Waits, then gives the result; `undefined` if the run has none.
   * @throws RunNotCompletedError (`CYCLONE_RUN_NOT_COMPLETED`) if it failed or was cancelled
   * @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`)
   */
  result(control?: WaitControl): Promise<Out>;
  /** Waits for any end; a failed run isn't an error. @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`) */
  wait(control?: WaitControl): Promise<RunOutcome>;
  /** Doesn't wait. @throws RunNotCompletedError (`CYCLONE_RUN_NOT_COMPLETED`) in any other state than `completed` */
  output(): Promise<Out>;
  /** Its state now; doesn't wait. @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`) */
  state(): Promise<RunState>;
  /** All nodes, in the order of the build, without inputs and outputs. @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`) */
  nodes(): Promise<NodeInfo[]>;
  /** A handle on one node; reads nothing. */
  node(name: string): NodeHandle;
  /** Nodes, edges and result, as the database has them. @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`) */
  graph(): Promise<RunGraph>;
  /**
   * Cancels all nodes that haven't ended, and with them the run. Once it resolves no further handler of it is called, and no completion
   * and no completionTx commits; handlers under way hear it by `ctx.signal`. A run that has ended stays as it is. Not part of a
   * transaction of the caller's.
   * @param reason for people; a kilobyte of it is kept
   * @returns the state after it: `cancelled`, or how the run had ended before
   * @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`)
   */
  cancel(reason?: string): Promise<RunState>;
  /**
   * Runs again what a failed or cancelled run hasn't completed, under the same id: completed outputs stay, attempts and reclaims begin anew, a
   * deadline that has passed, or that of a run which failed fast, no longer holds. Not part of a transaction of the caller's.
   * @throws RunNotRetryableError (`CYCLONE_RUN_NOT_RETRYABLE`) if it is running or has completed
   * @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`)
   */
  retry(): Promise<void>;
}

/** Something that waits takes an AbortSignal; aborting ends the wait and never touches the run. */
export interface WaitControl {
  /** Ends the wait when it fires: the wait rejects with its reason. @default none */
  signal?: AbortSignal;
}

/** How a run ended. */
export type RunOutcome =
  | { readonly state: "completed"; readonly finishedAt: Date; readonly error?: never }
  | { readonly state: "failed"; readonly finishedAt: Date; readonly error: StoredError }
  | { readonly state: "cancelled"; readonly finishedAt: Date; readonly error?: StoredError; readonly reason?: string };

/** A handle on one node of a run. */
export interface NodeHandle {
  /** The name, unique in the run. */
  readonly name: string;
  /** The node's state now. @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`); InvalidOptionError (`CYCLONE_INVALID_OPTION`) if the run has no such node */
  state(): Promise<NodeState>;
  /** The declared input: literals, with references where futures stand; `undefined` if the node takes none. */
  input(): Promise<unknown>;
  /** The output; `undefined` until the node has completed, and if it has none. */
  output(): Promise<unknown>;
  /**
   * The calls that didn't complete the node, oldest first: of more than 1,000 the newest. The call that completes it has no entry.
   * @throws RunNotFoundError (`CYCLONE_RUN_NOT_FOUND`); InvalidOptionError (`CYCLONE_INVALID_OPTION`) if the run has no such node
   */
  attempts(): Promise<AttemptInfo[]>;
}

/** One call of a node's handler that didn't complete it. */
export interface AttemptInfo {
  /** The call's number, from 1. After a call that wasn't charged (a snooze, a reclaim) the next one has the same number. */
  readonly attempt: number;
  /** The number of its lease: each claim of the node has the next one, so that it tells calls apart. */
  readonly epoch: number;
  /** The worker that had the lease, new in each process. */
  readonly worker: string | null;
  /** When the step was claimed, by the database's clock. */
  readonly startedAt: Date | null;
  /** When the outcome was recorded, by the database's clock. */
  readonly finishedAt: Date;
  /** How the call ended, and so whether it was charged. */
  readonly outcome: AttemptOutcome;
  /** What was thrown, readable whatever it was; `null` where nothing was. */
  readonly error: StoredError | null;
}

/** A node without its payloads. */
export interface NodeInfo {
  /** The name, unique in the run. */
  readonly name: string;
  /** A step or an action. */
  readonly kind: NodeKind;
  /** The step's or action's name. */
  readonly step: string | null;
  /** Its state now. */
  readonly state: NodeState;
  /** Calls with a recorded outcome, the completing one included. */
  readonly attempt: number;
  /** Leases lost and calls interrupted since the last recorded outcome. */
  readonly reclaims: number;
  /** The last failure, if the node hasn't completed since. */
  readonly error: StoredError | null;
}

/** An edge between two nodes, by their names. */
export interface GraphEdge {
  /** The upstream node. */
  readonly from: string;
  /** The node that waits for it. */
  readonly to: string;
  /** `data`: output travels along it; `order`: only an `after`. */
  readonly kind: "data" | "order";
}

/** The graph of a run as it is in the database. */
export interface RunGraph {
  /** In the order of the build, which is topological. */
  readonly nodes: readonly NodeInfo[];
  /** One per pair of nodes. */
  readonly edges: readonly GraphEdge[];
  /** The node whose output is the run's result; `null`: the run has none. */
  readonly result: string | null;
  /** The part of that output which is the result; `[]` is the whole. */
  readonly resultPath: readonly (string | number)[];
}
