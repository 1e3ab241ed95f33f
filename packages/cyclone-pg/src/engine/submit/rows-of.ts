import type { Graph } from "../../builder/graph.ts";
import type { RunKind } from "../../model/states.ts";
import type { DepRow, RunRow, StepRow } from "../../sql/submit/rows.ts";

/** When a run must have ended; at most one is set. */
export interface Deadline {
  readonly afterMs: number | null;
  readonly at: string | null;
}

/** What identifies a run that is about to be inserted. */
export interface NewRun {
  readonly id: string;
  readonly kind: RunKind;
  readonly name: string;
  /** JSON text of the submit's input, null: none. */
  readonly input: string | null;
  readonly tags: readonly string[] | null;
  readonly idempotencyKey: string | null;
  readonly priority: number | null;
  readonly queue: string | null;
  readonly failFast: boolean;
  readonly retentionMs: number | null;
  readonly deadline: Deadline;
  readonly traceparent: string | null;
}

/** The rows that a submit inserts for one run. */
export interface RunRows {
  readonly run: RunRow;
  readonly steps: readonly StepRow[];
  readonly deps: readonly DepRow[];
}

/** The rows of a run: pure, so that what is written can be looked at without a database. */
export function rowsOf(graph: Graph, run: NewRun): RunRows {
  const downs = downstreamKeys(graph);
  const steps = graph.nodes.map(
    (node): StepRow => ({
      runId: run.id,
      key: node.key,
      node: node.name,
      step: node.step,
      kind: node.kind,
      queue: node.queue,
      priority: node.priority,
      pending: node.upstreams.length,
      maxAttempts: node.maxAttempts,
      maxReclaims: node.maxReclaims,
      timeoutMs: node.timeoutMs,
      traceparent: run.traceparent,
      hasDeadline: run.deadline.afterMs === null && run.deadline.at === null ? null : true,
      downs: downs[node.key] ?? null,
      refs: node.references.length === 0 ? null : node.references.map((reference) => reference.key),
      refPaths: node.references.length === 0 ? null : node.references.map((reference) => reference.path),
      input: node.input,
    }),
  );
  return { run: runRow(graph, run), steps, deps: depRows(graph, run.id) };
}

function runRow(graph: Graph, run: NewRun): RunRow {
  const { result } = graph;
  return {
    id: run.id,
    kind: run.kind,
    name: run.name,
    remaining: graph.nodes.length,
    resultKey: result?.key ?? null,
    resultNode: result === null ? null : (graph.nodes[result.key]?.name ?? null),
    resultPath: result?.path ?? null,
    // A job's input is its step's; storing it twice would double the bytes of a job.
    input: run.kind === "workflow" ? run.input : null,
    tags: run.tags,
    idempotencyKey: run.idempotencyKey,
    priority: run.priority,
    queue: run.queue,
    failFast: run.failFast ? true : null,
    retentionMs: run.retentionMs,
    deadlineAfterMs: run.deadline.afterMs,
    deadlineAt: run.deadline.at,
    traceparent: run.traceparent,
  };
}

function downstreamKeys(graph: Graph): (number[] | undefined)[] {
  const downs: (number[] | undefined)[] = new Array(graph.nodes.length);
  for (const node of graph.nodes) {
    for (const { key } of node.upstreams) {
      const list = downs[key];
      if (list === undefined) downs[key] = [node.key];
      else list.push(node.key);
    }
  }
  return downs;
}

function depRows(graph: Graph, runId: string): DepRow[] {
  return graph.nodes.flatMap((node) =>
    node.upstreams.map(({ key, data }) => ({
      runId,
      upstreamKey: key,
      nodeKey: node.key,
      node: node.name,
      upstream: graph.nodes[key]?.name ?? "",
      data,
    })),
  );
}
