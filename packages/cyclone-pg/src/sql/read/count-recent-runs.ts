import type { RunState } from "../../model/states.ts";
import { defineStatement } from "../statement.ts";

export interface CountRecentRunsParams {
  readonly bucket: number;
  readonly windowMs: number;
  /** The youngest so many are counted. */
  readonly limit: number;
}

/** The youngest runs by their states. */
export const countRecentRuns = defineStatement<CountRecentRunsParams, { state: RunState; count: number }>({
  name: "count_recent_runs",
  text: (t) => `
select z.state::text as state, count(*)::int as count
from (
  select r.state
  from ${t.runs} r
  where r.bucket = $1::smallint and r.created_at >= statement_timestamp() - $2::float8 * interval '1 millisecond'
  order by r.created_at desc, r.id desc
  limit (select $3::int)
) z
group by z.state`,
  params: (p) => [p.bucket, p.windowMs, p.limit],
  sample: { bucket: 0, windowMs: 3_600_000, limit: 10_000 },
});
