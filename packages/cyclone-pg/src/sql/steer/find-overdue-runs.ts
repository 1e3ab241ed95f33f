import { defineStatement } from "../statement.ts";

export interface FindOverdueRunsParams {
  readonly bucket: number;
  readonly limit: number;
  /** Runs that are set aside. */
  readonly excluded: readonly string[];
}

/** Running runs whose deadline has passed, or that fail fast and have failed; `end_runs` checks again. */
export const findOverdueRuns = defineStatement<FindOverdueRunsParams, { readonly id: string }>({
  name: "find_overdue_runs",
  text: (t) => `
select r.id
from ${t.runs} r
where r.bucket = $1::smallint and r.state = 'running' and r.deadline < statement_timestamp() and r.id <> all ($3::uuid[])
order by r.deadline
limit $2::int`,
  params: (p) => [p.bucket, p.limit, p.excluded],
  sample: { bucket: 0, limit: 100, excluded: [] },
});
