import { defineStatement } from "../statement.ts";

export interface AdvanceTimeParams {
  readonly bucket: number;
  readonly ms: number;
}

/**
 * For tests: moves the times that open nodes and runs wait for into the past, as if so much time had gone by. It looks at all of
 * them: nothing for a database at work.
 */
export const advanceTime = defineStatement<AdvanceTimeParams, { nodes: number; runs: number }>({
  name: "advance_time",
  text: (t) => `
with waiting as materialized (
  select s.run_id, s.key, s.item
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state in ('scheduled', 'waiting') and s.available_at is not null
  order by s.run_id, s.key, s.item
  for no key update
),
moved as (
  update ${t.steps} s
  set available_at = s.available_at - $2::float8 * interval '1 millisecond'
  from waiting w
  where s.bucket = $1::smallint and s.run_id = w.run_id and s.key = w.key and s.item = w.item
  returning 1
),
limited as materialized (
  select r.id
  from ${t.runs} r
  where r.bucket = $1::smallint and r.state = 'running' and r.deadline is not null
  order by r.id
  for no key update
),
shortened as (
  update ${t.runs} r
  set deadline = r.deadline - $2::float8 * interval '1 millisecond'
  from limited l
  where r.bucket = $1::smallint and r.id = l.id
  returning 1
)
select (select count(*) from moved)::int as nodes, (select count(*) from shortened)::int as runs`,
  params: (p) => [p.bucket, p.ms],
  sample: { bucket: 0, ms: 3_600_000 },
});
