import { defineStatement } from "../statement.ts";

export interface FindEndedRunsParams {
  readonly bucket: number;
  readonly ids: readonly string[];
  /** Which of them want their result's value as well. */
  readonly wantResult: readonly boolean[];
}

/** `state` is null for an id that no run has. */
export interface EndedRunRow {
  readonly id: string;
  readonly state: "running" | "completed" | "failed" | "cancelled" | null;
  readonly kind: string | null;
  readonly name: string | null;
  readonly failed: number | null;
  readonly error: unknown;
  readonly cancel_reason: string | null;
  /** Milliseconds since 1970: a text would depend on the session's DateStyle. */
  readonly finished_ms: number | null;
  readonly has_output: boolean;
  readonly output: unknown;
}

/** Of the given runs those that have ended or don't exist, some with their result: one statement for all waiters of a client. */
export const findEndedRuns = defineStatement<FindEndedRunsParams, EndedRunRow>({
  name: "find_ended_runs",
  text: (t) => `
select x.id, r.state::text as state, r.kind::text as kind, r.name, r.failed, r.error, r.cancel_reason, (extract(epoch from r.finished_at) * 1000)::float8 as finished_ms,
  o.output is not null as has_output, o.output
from unnest((select $2::uuid[]), (select $3::boolean[])) x(id, want)
left join lateral (
  select r.state, r.kind, r.name, r.failed, r.error, r.cancel_reason, r.finished_at, r.result_key, r.result_path
  from ${t.runs} r
  where r.bucket = $1::smallint and r.id = x.id
  offset 0
) r on true
left join lateral (
  select case when r.result_path = '{}' then s.output else s.output #> r.result_path::text[] end as output
  from ${t.steps} s
  where x.want and r.state = 'completed' and s.bucket = $1::smallint and s.run_id = x.id and s.key = r.result_key and s.item = 0
  offset 0
) o on true
where r.state is distinct from 'running'`,
  params: (p) => [p.bucket, p.ids, p.wantResult],
  sample: { bucket: 0, ids: ["01890000-0000-7000-8000-000000000000"], wantResult: [true] },
});
