import { defineStatement } from "../statement.ts";
import type { EndedRunRow } from "./find-ended-runs.ts";

export interface ReadRunParams {
  readonly bucket: number;
  readonly id: string;
  readonly wantResult: boolean;
}

export interface ReadRunRow extends EndedRunRow {
  readonly result_node: string | null;
  /** The part of the node's output that is the result, as text keys. */
  readonly result_keys: readonly string[] | null;
}

/** One run as it stands, with its result if it is wanted and there. */
export const readRun = defineStatement<ReadRunParams, ReadRunRow>({
  name: "read_run",
  text: (t) => `
select r.id, r.state::text as state, r.kind::text as kind, r.name, r.failed, r.error, r.cancel_reason, (extract(epoch from r.finished_at) * 1000)::float8 as finished_ms, r.result_node, to_jsonb(r.result_path::text[]) as result_keys,
  o.output is not null as has_output, o.output
from ${t.runs} r
left join lateral (
  select case when r.result_path = '{}' then s.output else s.output #> r.result_path::text[] end as output
  from ${t.steps} s
  where $3::boolean and r.state = 'completed' and s.bucket = $1::smallint and s.run_id = r.id and s.key = r.result_key and s.item = 0
) o on true
where r.bucket = $1::smallint and r.id = $2::uuid`,
  params: (p) => [p.bucket, p.id, p.wantResult],
  sample: { bucket: 0, id: "01890000-0000-7000-8000-000000000000", wantResult: true },
});
