import { anyPriority, anyTime } from "../hidden-range.ts";
import { defineStatement } from "../statement.ts";

export interface CountLiveStepsParams {
  readonly bucket: number;
  /** How many of each state are counted, at most and about. */
  readonly limit: number;
}

export interface LiveStepsRow {
  readonly queue: string;
  /** null for a control node. */
  readonly step: string | null;
  readonly state: "available" | "scheduled" | "running";
  readonly count: number;
  /** For how long the one has been available that has been so longest; null in other states. */
  readonly oldest_ms: number | null;
  /** There may be more: the count has stopped at its limit. */
  readonly capped: boolean;
}

/** Lanes of available steps that are told apart. */
const LANES_MAX = 1_000;
/** Counted of each lane, however many lanes there are. */
const PER_LANE_MIN = 100;

/**
 * How many steps are available, scheduled and running, by queue and step. Each count reads an index of just these states, and stops at its
 * limit. Lanes of available steps are found by one descent each, whatever they hold, and share the limit.
 */
export const countLiveSteps = defineStatement<CountLiveStepsParams, LiveStepsRow>({
  name: "count_live_steps",
  text: (t) => `
with recursive lane(queue, step, n) as (
  (
    select s.queue, s.step, 1
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'available'
    order by s.queue, s.step
    limit 1
  )
  union all
  select z.queue, z.step, l.n + 1
  from lane l
  cross join lateral (
    select s.queue, s.step
    from ${t.steps} s
    where s.bucket = $1::smallint and s.state = 'available' and (s.queue, s.step) > (l.queue, l.step)
    order by s.queue, s.step
    limit 1
  ) z
  where l.n < ${LANES_MAX}
),
share as materialized (
  select greatest(${PER_LANE_MIN}, $2::int / greatest(1, count(*)::int)) as size
  from lane
),
scheduled as materialized (
  select s.queue, s.step
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state = 'scheduled' and s.available_at is not null and ${anyTime("s.available_at")}
  order by s.available_at
  limit (select $2::int)
),
running as materialized (
  select s.queue, s.step
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state = 'running' and ${anyTime("s.lease_expiry")}
  order by s.lease_expiry
  limit (select $2::int)
)
select l.queue, l.step, 'available' as state, c.count, c.oldest_ms, c.count >= h.size or l.n >= ${LANES_MAX} as capped
from lane l
cross join share h
cross join lateral (
  select count(*)::int as count, (extract(epoch from statement_timestamp() - min(a.available_at)) * 1000)::float8 as oldest_ms
  from (
    select s.available_at
    from ${t.steps} s
    where s.bucket = $1::smallint and s.queue = l.queue and s.step = l.step and s.state = 'available' and ${anyPriority("s")}
    order by s.priority desc, s.available_at
    limit (select size from share)
  ) a
) c
union all
select queue, step, 'scheduled', count(*)::int, null, (select count(*) from scheduled) >= $2::int
from scheduled
group by queue, step
union all
select queue, step, 'running', count(*)::int, null, (select count(*) from running) >= $2::int
from running
group by queue, step`,
  params: (p) => [p.bucket, p.limit],
  sample: { bucket: 0, limit: 10_000 },
});
