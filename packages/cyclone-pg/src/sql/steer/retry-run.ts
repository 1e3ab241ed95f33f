import { costlyFalse } from "../costly-false.ts";
import { handedOn } from "../handed-on.ts";
import { defineStatement } from "../statement.ts";

export interface RetryRunParams {
  readonly bucket: number;
  readonly runId: string;
}

export interface RetryRunRow {
  readonly name: string;
  /** Nodes that are available at once. */
  readonly available: number;
}

/**
 * failed / cancelled → running; discarded and cancelled nodes → pending or available, as if they had never been called: attempts, reclaims and
 * snoozes begin anew, the epoch goes on, so that a lease of old stays fenced. A passed deadline no longer holds. The run's row is locked
 * first, which is safe since a run that has ended has no live node; should it have gone on and ended again since the statement began, the nodes
 * seen are those of another end, and nothing is done. One with a completed node that isn't activated yet is left alone, so
 * that no decrement is missed: no row comes back, and the caller activates it and tries again. What isn't completed in such a run is what begins
 * again, and all that follows from it: so the edges that leave it are those that nodes have to wait for.
 */
export const retryRun = defineStatement<RetryRunParams, RetryRunRow>({
  name: "retry_run",
  text: (t) => `
with was as materialized (
  select r.finished_at
  from ${t.runs} r
  where r.bucket = $1::smallint and r.id = $2::uuid
),
every_key as materialized (
  select k.key
  from generate_series(0, (
    select s.key
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = $2::uuid
    order by s.key desc, s.item desc
    limit 1
  )) k(key)
),
node as materialized (
  select s.key, s.item, s.again, s.unactivated
  from ${handedOn("every_key", ["key"], "k")}
  cross join lateral (
    select s.key, s.item, s.state in ('discarded', 'cancelled') as again, s.unactivated is true as unactivated
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = $2::uuid and s.key = k.key and s.item = 0
    offset 0
  ) s
),
retried as (
  update ${t.runs} r
  set state = 'running', retries = r.retries + 1, failed = 0, remaining = (select count(*) from node where again), finished_at = null,
    error = null, cancel_reason = null, deadline = case when r.deadline > was.finished_at and r.deadline > statement_timestamp() then r.deadline end
  from was
  where r.bucket = $1::smallint and r.id = $2::uuid and r.state in ('failed', 'cancelled') and r.finished_at = was.finished_at
    and not exists (select from node where unactivated)
  returning r.id, r.name
),
again as materialized (
  select z.key, z.item, sum(z.n)::int as pending
  from (
    select n.key, n.item, 0 as n
    from node n
    where n.again
    union all
    select e.node_key, 0, 1
    from unnest((select array_agg(key) from node where again and item = 0)) u(key)
    cross join lateral (
      select d.node_key
      from ${t.deps} d
      where d.bucket = $1::smallint and d.run_id = $2::uuid and d.upstream_key = u.key
      offset 0
    ) e
  ) z
  where (select count(*) from retried) > 0
  group by z.key, z.item
  order by z.key, z.item
),
again_list as (
  select l.key, l.item, l.pending, statement_timestamp() as at
  from ${handedOn("again", ["key", "item", "pending"])}
),
moved as (
  update ${t.steps} s
  set state = case when l.pending = 0 then 'available'::${t.stepState} else 'pending'::${t.stepState} end,
    available_at = case when l.pending = 0 then l.at end,
    pending = l.pending, attempts = 0, reclaims = 0, snoozes = 0, error = null, started_at = null, finished_at = null, progress = null,
    progress_message = null
  from again_list l
  where s.bucket = $1::smallint and s.run_id = $2::uuid and s.key = l.key and s.item = l.item
    and case when s.state in ('discarded', 'cancelled') then true else ${costlyFalse("l.key")} end
  returning s.state
)
select r.name, (select count(*) from moved where state = 'available')::int as available
from retried r`,
  params: (p) => [p.bucket, p.runId],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000" },
});
