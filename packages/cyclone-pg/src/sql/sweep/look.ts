import { pausedQueues } from "../queue/paused-queues.ts";
import { defineStatement } from "../statement.ts";

export interface LookParams {
  readonly bucket: number;
  /** Each step is looked for in each queue: a submit may put any step into any queue. */
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  readonly unactivatedAfterMs: number;
}

export interface LookRow {
  readonly available: boolean;
  readonly due: boolean;
  readonly expired: boolean;
  readonly unactivated: boolean;
  /** Runs whose deadline has passed, or that fail fast. */
  readonly overdue: boolean;
  /** Milliseconds until the next scheduled step is due or the next deadline passes, null: there is none. */
  readonly next_due_ms: number | null;
}

/**
 * What there is to do in a bucket: the one query of an idle worker's poll. What is available in a paused queue is nothing to do. Each answer is one descent of a partial index, whatever
 * the tables hold: asked for the first by the index's order. Asked for any, the planner may count on finding one soon by reading the
 * table from its beginning, and reads all of it where there is none.
 */
export const look = defineStatement<LookParams, LookRow>({
  name: "look",
  text: (t) => `
select
  exists (
    select from unnest($2::text[]) q(queue)
    cross join unnest($3::text[]) p(step)
    cross join lateral (
      select 1
      from ${t.steps} s
      where s.bucket = $1::smallint and s.queue = q.queue and s.step = p.step and s.state = 'available'
      order by s.priority desc, s.available_at
      limit 1
    ) a
    where not (q.queue = any (${pausedQueues(t)}))
  ) as available,
  coalesce(n.available_at <= statement_timestamp(), false) as due,
  coalesce((
    select true
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'running' and s.lease_expiry < statement_timestamp()
    order by s.lease_expiry
    limit 1
  ), false) as expired,
  coalesce((
    select true
    from ${t.steps} s
    where s.bucket = $1::smallint and s.unactivated and s.finished_at < statement_timestamp() - $4::float8 * interval '1 millisecond'
    order by s.finished_at
    limit 1
  ), false) as unactivated,
  coalesce(d.deadline < statement_timestamp(), false) as overdue,
  (extract(epoch from least(n.available_at, d.deadline) - statement_timestamp()) * 1000)::float8 as next_due_ms
from (select) one
left join lateral (
  select s.available_at
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state = 'scheduled' and s.available_at is not null
  order by s.available_at
  limit 1
) n on true
left join lateral (
  select r.deadline
  from ${t.runs} r
  where r.bucket = $1::smallint and r.state = 'running' and r.deadline is not null
  order by r.deadline
  limit 1
) d on true`,
  params: (p) => [p.bucket, p.queues, p.steps, p.unactivatedAfterMs],
  sample: { bucket: 0, queues: ["default"], steps: ["fetch"], unactivatedAfterMs: 1000 },
});
