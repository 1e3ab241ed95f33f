import type { Tables } from "../tables.ts";
import { depRecords, runRecords, type SubmitParams, stepRecords } from "./rows.ts";

/** The insert of runs that both submits share; `$2` is {@link runRecords}. */
export const insertRunsText = (t: Tables): string => `
  insert into ${t.runs} as r (bucket, id, kind, name, remaining, result_key, result_node, result_path, input, tags, idempotency_key, priority, queue, fail_fast,
    retention_ms, deadline, traceparent)
  select $1::smallint, x.id, x.kind::${t.runKind}, x.name, x.remaining,
    x.result_key, x.result_node, x.result_path, x.input -> 0, x.tags, x.idempotency_key, x.priority, x.queue, x.fail_fast,
    x.retention_ms, coalesce(x.deadline_at, statement_timestamp() + x.deadline_ms * interval '1 millisecond'), x.traceparent
  from jsonb_to_recordset($2::jsonb) as x(id uuid, kind text, name text, remaining int, result_key int, result_node text, result_path text, input jsonb,
    tags text[], idempotency_key text, priority smallint, queue text, fail_fast boolean, retention_ms bigint, deadline_ms float8, deadline_at timestamptz, traceparent text)`;

/** The inserts of edges and nodes that both submits share; `only` is a condition on `x.run_id`. */
export const insertNodesText = (t: Tables, only: string): string => `
at as materialized (
  select coalesce($6::timestamptz, statement_timestamp() + coalesce($5::float8, 0) * interval '1 millisecond') as due,
    coalesce($6::timestamptz > statement_timestamp(), $5::float8 > 0, false) as later
),
d as (
  insert into ${t.deps} (bucket, run_id, upstream_key, node_key, node, upstream, data)
  select $1::smallint, x.run_id, x.upstream_key, x.node_key, x.node, x.upstream, x.data
  from jsonb_to_recordset($4::jsonb) as x(run_id uuid, upstream_key int, node_key int, node text, upstream text, data boolean)
  where ${only}
),
s as (
  insert into ${t.steps} (bucket, run_id, key, node, step, kind, queue, priority, pending, max_attempts, max_reclaims, timeout_ms, traceparent, has_deadline, downs, refs, ref_paths, input, state, available_at)
  select $1::smallint, x.run_id, x.key, x.node, x.step, x.kind::${t.nodeKind}, x.queue, x.priority, x.pending, x.max_attempts, x.max_reclaims, x.timeout_ms, x.traceparent,
    x.has_deadline, x.downs, x.refs, x.ref_paths, x.input -> 0,
    case
      when x.pending > 0 then 'pending'::${t.stepState}
      when at.later then 'scheduled'::${t.stepState}
      else 'available'::${t.stepState}
    end,
    case when x.pending = 0 then at.due end
  from at
  cross join jsonb_to_recordset($3::jsonb) as x(run_id uuid, key int, node text, step text, kind text, queue text, priority smallint, pending int,
    max_attempts int, max_reclaims int, timeout_ms bigint, traceparent text, has_deadline boolean, downs int[], refs int[], ref_paths text[], input jsonb)
  where ${only}
)`;

/** The parameters of both submits. */
export const submitParams = (p: SubmitParams): unknown[] => [
  p.bucket,
  runRecords(p.runs),
  stepRecords(p.steps),
  depRecords(p.deps),
  p.delayMs,
  p.startAt,
];
