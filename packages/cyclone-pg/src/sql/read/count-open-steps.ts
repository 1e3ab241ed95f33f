import { defineStatement } from "../statement.ts";

export interface CountOpenStepsParams {
  readonly bucket: number;
  /** Of each state so many are counted, at most. */
  readonly limit: number;
}

export interface OpenStepsRow {
  readonly queue: string;
  /** null: control nodes. */
  readonly step: string | null;
  readonly state: "available" | "scheduled" | "running";
  readonly count: number;
  /** For how long the one has been available that has been so longest; null in other states. */
  readonly oldest_ms: number | null;
}

/**
 * How many steps are available, scheduled and running, by queue and step. Each state has an index of its own, of which `limit` entries are
 * read. The limit comes from a sub-select, so that the planner can't compare it with a count that it guesses: it would read all rows instead.
 */
export const countOpenSteps = defineStatement<CountOpenStepsParams, OpenStepsRow>({
  name: "count_open_steps",
  text: (t) => `
select o.queue, o.step, o.state, count(*)::int as count,
  (extract(epoch from statement_timestamp() - min(o.since)) * 1000)::float8 as oldest_ms
from (
  (
    select s.queue, s.step, 'available' as state, s.available_at as since
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'available'
    order by s.queue, s.step, s.priority desc, s.available_at
    limit (select $2::int)
  )
  union all
  (
    select s.queue, s.step, 'scheduled' as state, null as since
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'scheduled' and s.available_at is not null
    order by s.available_at
    limit (select $2::int)
  )
  union all
  (
    select s.queue, s.step, 'running' as state, null as since
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'running'
    order by s.lease_expiry
    limit (select $2::int)
  )
) o
group by o.queue, o.step, o.state`,
  params: (p) => [p.bucket, p.limit],
  sample: { bucket: 0, limit: 10_000 },
});
