import type { NodeKind } from "../model/states.ts";
import type { FuturePath } from "./future-path.ts";

/** A reference to (a part of) an upstream's output; `path` [] is the whole output. */
export interface GraphReference {
  readonly key: number;
  readonly path: FuturePath;
}

/** An edge into a node, from the upstream with this key. */
export interface GraphUpstream {
  readonly key: number;
  /** Whether output travels along it; an order edge otherwise. */
  readonly data: boolean;
}

/** One node as it is submitted. */
export interface GraphNode {
  /** The node's place in the build, from 0; upstreams have smaller keys, so the order is topological. */
  readonly key: number;
  /** Unique in the run. */
  readonly name: string;
  readonly kind: NodeKind;
  /** The step's or action's name. */
  readonly step: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  /** `null`: no bound. */
  readonly maxReclaims: number | null;
  /** The node's own timeout; `null`: the one that the step's code says, if any. */
  readonly timeoutMs: number | null;
  /**
   * JSON text of the declared input; `null`: no input (undefined). With references it is a template: see `template.ts`.
   */
  readonly input: string | null;
  /** The parts of upstreams that the input takes, each once, in the order of first use. */
  readonly references: readonly GraphReference[];
  /** The edges into this node, one per upstream, by ascending key. */
  readonly upstreams: readonly GraphUpstream[];
}

/** The graph of a run: what one submit or enqueue inserts. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  /** What the run's result is; `null`: none. */
  readonly result: GraphReference | null;
}
