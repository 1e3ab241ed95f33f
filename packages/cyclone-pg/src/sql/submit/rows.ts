import type { NodeKind, RunKind } from "../../model/states.ts";

/** One run as submit inserts it. */
export interface RunRow {
  readonly id: string;
  readonly kind: RunKind;
  readonly name: string;
  /** Nodes that aren't terminal yet: all of them. */
  readonly remaining: number;
  readonly resultKey: number | null;
  readonly resultNode: string | null;
  readonly resultPath: readonly (string | number)[] | null;
  /** JSON text of the submit's input, null: none. Only workflows have it here; a job's is its step's. */
  readonly input: string | null;
  readonly tags: readonly string[] | null;
  readonly idempotencyKey: string | null;
  readonly priority: number | null;
  readonly queue: string | null;
  /** null: false. */
  readonly failFast: true | null;
  readonly retentionMs: number | null;
  /** From the statement's time on. */
  readonly deadlineAfterMs: number | null;
  readonly deadlineAt: string | null;
  readonly traceparent: string | null;
}

/** One node as submit inserts it. */
export interface StepRow {
  readonly runId: string;
  readonly key: number;
  readonly node: string;
  readonly step: string | null;
  readonly kind: NodeKind;
  readonly queue: string;
  readonly priority: number;
  /** Distinct upstreams. */
  readonly pending: number;
  readonly maxAttempts: number;
  readonly maxReclaims: number | null;
  readonly timeoutMs: number | null;
  /** The run's, repeated here so that a claim reads no second table. */
  readonly traceparent: string | null;
  /** Whether the run has a deadline, so that only a claim in such a run reads it there; null: no. */
  readonly hasDeadline: true | null;
  readonly downs: readonly number[] | null;
  readonly refs: readonly number[] | null;
  readonly refPaths: readonly (readonly (string | number)[])[] | null;
  /** JSON text of the declared input, null: none. */
  readonly input: string | null;
}

/** One edge as submit inserts it. */
export interface DepRow {
  readonly runId: string;
  readonly upstreamKey: number;
  readonly nodeKey: number;
  readonly node: string;
  readonly upstream: string;
  readonly data: boolean;
}

export interface SubmitParams {
  readonly bucket: number;
  readonly runs: readonly RunRow[];
  readonly steps: readonly StepRow[];
  readonly deps: readonly DepRow[];
  /** Root nodes wait this long, by the database's clock; null: they are available at once. */
  readonly delayMs: number | null;
  /** Root nodes wait until this moment; at most one of the two is given. */
  readonly startAt: string | null;
}

// Rows travel as one JSON text per table: 6 parameters instead of 35, and nested arrays need no encoding of their own. A single row costs
// no more so, a row of 1,000 a quarter more (docs/decisions/0001-schema-and-statements.md). JSON null can't be told from "none" in a
// record, so inputs travel inside a list. The texts of inputs are already JSON and are put in as they are.

/** JSON text for `jsonb_to_recordset`. */
export function runRecords(runs: readonly RunRow[]): string {
  return `[${runs.map(runRecord).join(",")}]`;
}

function runRecord(r: RunRow): string {
  const record = JSON.stringify({
    id: r.id,
    kind: r.kind,
    name: r.name,
    remaining: r.remaining,
    result_key: r.resultKey ?? undefined,
    result_node: r.resultNode ?? undefined,
    result_path: r.resultPath === null ? undefined : pathLiteral(r.resultPath),
    tags: r.tags ?? undefined,
    idempotency_key: r.idempotencyKey ?? undefined,
    priority: r.priority ?? undefined,
    queue: r.queue ?? undefined,
    fail_fast: r.failFast ?? undefined,
    retention_ms: r.retentionMs ?? undefined,
    deadline_ms: r.deadlineAfterMs ?? undefined,
    deadline_at: r.deadlineAt ?? undefined,
    traceparent: r.traceparent ?? undefined,
  });
  return withInput(record, r.input);
}

/** JSON text for `jsonb_to_recordset`. */
export function stepRecords(steps: readonly StepRow[]): string {
  return `[${steps.map(stepRecord).join(",")}]`;
}

function stepRecord(s: StepRow): string {
  const record = JSON.stringify({
    run_id: s.runId,
    key: s.key,
    node: s.node,
    step: s.step ?? undefined,
    kind: s.kind,
    queue: s.queue,
    priority: s.priority,
    pending: s.pending,
    max_attempts: s.maxAttempts,
    max_reclaims: s.maxReclaims ?? undefined,
    timeout_ms: s.timeoutMs ?? undefined,
    traceparent: s.traceparent ?? undefined,
    has_deadline: s.hasDeadline ?? undefined,
    downs: s.downs ?? undefined,
    refs: s.refs ?? undefined,
    ref_paths: s.refPaths?.map(pathLiteral) ?? undefined,
  });
  return withInput(record, s.input);
}

/** JSON text for `jsonb_to_recordset`. */
export function depRecords(deps: readonly DepRow[]): string {
  return JSON.stringify(
    deps.map((d) => ({
      run_id: d.runId,
      upstream_key: d.upstreamKey,
      node_key: d.nodeKey,
      node: d.node,
      upstream: d.upstream,
      data: d.data,
    })),
  );
}

function withInput(record: string, input: string | null): string {
  return input === null ? record : `${record.slice(0, -1)},"input":[${input}]}`;
}

/** A path as a Postgres array literal, as the operator `#>` takes it once cast; `{}` is the whole value. */
function pathLiteral(path: readonly (string | number)[]): string {
  return `{${path.map((part) => `"${String(part).replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

const SAMPLE_ID = "01890000-0000-7000-8000-000000000000";
const node = {
  kind: "step",
  queue: "default",
  priority: 0,
  maxAttempts: 25,
  maxReclaims: 10,
  timeoutMs: null,
  traceparent: null,
  hasDeadline: true,
  runId: SAMPLE_ID,
} as const;

/** A run of two nodes, for the statements' samples. */
export const sampleSubmit: SubmitParams = {
  bucket: 0,
  runs: [
    {
      id: SAMPLE_ID,
      kind: "workflow",
      name: "ingest",
      remaining: 2,
      resultKey: 1,
      resultNode: "save",
      resultPath: [],
      input: "1",
      tags: ["a"],
      idempotencyKey: "k",
      priority: null,
      queue: null,
      failFast: true,
      retentionMs: 1_000,
      deadlineAfterMs: 1_000,
      deadlineAt: null,
      traceparent: null,
    },
  ],
  steps: [
    { ...node, key: 0, node: "fetch", step: "fetch", pending: 0, downs: [1], refs: null, refPaths: null, input: "1" },
    {
      ...node,
      key: 1,
      node: "save",
      step: "save",
      pending: 1,
      downs: null,
      refs: [0],
      refPaths: [["url"]],
      input: '{"$future":"fetch","path":["url"],"ref":0}',
    },
  ],
  deps: [{ runId: SAMPLE_ID, upstreamKey: 0, nodeKey: 1, node: "save", upstream: "fetch", data: true }],
  delayMs: null,
  startAt: null,
};
