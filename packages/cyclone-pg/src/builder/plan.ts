import type { NodeKind } from "../model/states.ts";
import type { Graph } from "./graph.ts";
import { renderMermaid } from "./mermaid.ts";
import type { GraphEdge } from "./run.ts";

/** One node of a {@link Plan}, as it would be inserted. */
export interface PlanNode {
  /** The name, unique in the run. */
  readonly name: string;
  /** A step or an action. */
  readonly kind: NodeKind;
  /** The step's or action's name. */
  readonly step: string | null;
  /** Which workers may claim it. */
  readonly queue: string;
  /** Higher first, within a queue. */
  readonly priority: number;
  /** Calls that may fail before it is discarded. */
  readonly maxAttempts: number;
  /** The declared input: literals, with `{ "$future": "<node>", "path": […] }` where futures stand; `undefined`: none. */
  readonly input: unknown;
}

/** The graph of a run that hasn't been submitted. */
export interface Plan {
  /** In the order of the build, which is topological. */
  readonly nodes: readonly PlanNode[];
  /** One per pair of nodes; `data` if any output travels along it. */
  readonly edges: readonly GraphEdge[];
  /** The node whose output is the run's result; `null`: the run has none. */
  readonly result: string | null;
  /** The part of that output which is the result; `[]` is the whole. */
  readonly resultPath: readonly (string | number)[];
  /** A Mermaid flowchart: solid edges carry data, dotted ones order; actions have round ends, the result a thick border. */
  toMermaid(): string;
}

/** @param graph as {@link import("./graph-of.ts").graphOf} makes it */
export function planOf(graph: Graph): Plan {
  const names = graph.nodes.map((node) => node.name);
  const nameOf = (key: number): string => names[key] ?? "";
  const nodes = graph.nodes.map(
    ({ name, kind, step, queue, priority, maxAttempts, input }): PlanNode => ({
      name,
      kind,
      step,
      queue,
      priority,
      maxAttempts,
      input: input === null ? undefined : (JSON.parse(input) as unknown),
    }),
  );
  const edges = graph.nodes.flatMap((node) =>
    node.upstreams.map(
      ({ key, data }): GraphEdge => ({ from: nameOf(key), to: node.name, kind: data ? "data" : "order" }),
    ),
  );
  const result = graph.result === null ? null : nameOf(graph.result.key);
  return {
    nodes,
    edges,
    result,
    resultPath: graph.result?.path ?? [],
    toMermaid: () => renderMermaid({ nodes, edges, result }),
  };
}
