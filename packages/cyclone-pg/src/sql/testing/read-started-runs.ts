import { defineStatement } from "../statement.ts";

export interface ReadStartedRunsParams {
  readonly bucket: number;
  readonly kind: string;
  readonly name: string;
}

export interface StartedRunRow {
  readonly id: string;
  readonly has_input: boolean;
  readonly input: unknown;
  readonly state: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly tags: readonly string[] | null;
  readonly idempotency_key: string | null;
  readonly traceparent: string | null;
  /** When the first node is due, in milliseconds since 1970; null: it isn't scheduled. */
  readonly due_ms: number | null;
  readonly created_us: number;
}

/** For tests: all runs of one definition that weren't started by another run, oldest first, with the inputs they were given. */
export const readStartedRuns = defineStatement<ReadStartedRunsParams, StartedRunRow>({
  name: "read_started_runs",
  text: (t) => `
select r.id::text as id, i.input is not null as has_input, i.input, r.state::text as state,
  case when r.kind = 'workflow' then r.queue else n.queue end as queue,
  case when r.kind = 'workflow' then r.priority else n.priority end as priority,
  to_jsonb(r.tags) as tags, r.idempotency_key, r.traceparent,
  (extract(epoch from case when n.state = 'scheduled' then n.available_at end) * 1000)::float8 as due_ms,
  (extract(epoch from r.created_at) * 1000000)::float8 as created_us
from ${t.runs} r
left join ${t.steps} n on n.bucket = $1::smallint and n.run_id = r.id and n.key = 0 and n.item = 0
cross join lateral (select case when r.kind = 'workflow' then r.input else n.input end as input) i
where r.bucket = $1::smallint and r.kind = $2::${t.runKind} and r.name = $3 and r.parent_run_id is null
order by r.created_at, r.id`,
  params: (p) => [p.bucket, p.kind, p.name],
  sample: { bucket: 0, kind: "workflow", name: "ingest" },
});
