import { costlyFalse } from "../costly-false.ts";
import { handedOn } from "../handed-on.ts";
import { lockedRunsText } from "../locked-runs.ts";
import { defineStatement } from "../statement.ts";

export interface EndRunsParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  /** `failed`: only those whose deadline has passed. */
  readonly state: "cancelled" | "failed";
  /** Why they are cancelled, for people. */
  readonly reason: string | null;
  /** JSON text of the error with which they fail, if they have none yet. */
  readonly error: string | null;
}

export interface EndRunsRow {
  /** Nodes that were cancelled. */
  readonly cancelled: number;
  readonly ended_ids: readonly string[] | null;
  readonly ended_names: readonly string[] | null;
}

const LIVE = "'pending', 'scheduled', 'available', 'running', 'waiting'";

/**
 * Ends runs before their time: live nodes → cancelled, running → cancelled or failed. The rows' locks decide every race: a completion that
 * came first is seen as completed, one that comes later finds its row cancelled. A run without a live node isn't touched, even where its
 * last completion isn't counted yet: it is about to complete. Nodes are looked up one by one, from key 0 to the last: asked for by
 * the run alone the planner may read the table for each.
 */
export const endRuns = defineStatement<EndRunsParams, EndRunsRow>({
  name: "end_runs",
  text: (t) => `
with x as materialized (
  select x.run_id, (
    select s.key
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = x.run_id
    order by s.key desc, s.item desc
    limit 1
  ) as last
  from unnest((select $2::uuid[])) x(run_id)
  where $3::text = 'cancelled' or exists (
    select from ${t.runs} r
    where r.bucket = $1::smallint and r.id = x.run_id and r.deadline < statement_timestamp()
    offset 0
  )
  order by x.run_id
),
node as materialized (
  select x.run_id, k.key
  from x
  cross join lateral generate_series(0, x.last) k(key)
),
live as materialized (
  select l.run_id, l.key, l.item, l.state, l.lease_epoch, l.lease_owner, l.started_at, l.attempts
  from ${handedOn("node", ["run_id", "key"], "n")}
  cross join lateral (
    select s.run_id, s.key, s.item, s.state, s.lease_epoch, s.lease_owner, s.started_at, s.attempts
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = n.run_id and s.key = n.key and s.item = 0 and case when s.state in (${LIVE}) then true else false end
    for no key update
  ) l
),
live_list as (
  select l.run_id, l.key, l.item, statement_timestamp() as at
  from ${handedOn("live", ["run_id", "key", "item"])}
),
cancelled as (
  update ${t.steps} s
  set state = 'cancelled', finished_at = l.at, lease_owner = null, lease_expiry = null
  from live_list l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state in (${LIVE}) then true else ${costlyFalse("l.key")} end
  returning s.run_id
),
called as (
  insert into ${t.attempts} (bucket, run_id, key, item, epoch, attempt, worker, started_at, outcome)
  select $1::smallint, l.run_id, l.key, l.item, l.lease_epoch, l.attempts + 1, l.lease_owner, l.started_at, 'cancelled'::${t.attemptOutcome}
  from live l
  where l.state = 'running'
),
ended_nodes as (
  select run_id, count(*)::int as n
  from cancelled
  group by run_id
  order by run_id
),
${lockedRunsText(t, "cancelled", ["n"])},
counted as (
  update ${t.runs} r
  set remaining = r.remaining - l.n,
    state = case when r.state = 'running' then $3::text::${t.runState} else r.state end,
    finished_at = case when r.state = 'running' then l.at else r.finished_at end,
    cancel_reason = case when r.state = 'running' then $4::text else r.cancel_reason end,
    error = case when r.state = 'running' then coalesce(r.error, $5::jsonb) else r.error end
  from locked_runs l
  where r.bucket = $1::smallint and r.id = l.run_id and case when r.remaining >= l.n then true else ${costlyFalse("l.n")} end
  returning r.id, r.name
)
select (select count(*) from cancelled)::int as cancelled,
  (select jsonb_agg(id) from counted) as ended_ids,
  (select jsonb_agg(name) from counted) as ended_names`,
  params: (p) => [p.bucket, p.runIds, p.state, p.reason, p.error],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    state: "cancelled",
    reason: "no longer wanted",
    error: null,
  },
});
