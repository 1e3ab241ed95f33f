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
 * came first is seen as completed, one that comes later finds its row cancelled. All locks are taken before anything is changed, the runs'
 * last: one that was retried since the statement began has live nodes that it doesn't see, and is left for the next try. A run without a live
 * node isn't touched, even where its last completion isn't counted yet: it is about to complete. It is locked all the same,
 * since the completion that counts it goes on to nodes downstream of it. Nodes are looked up one by one, from key 0 to the last: asked for by the
 * run alone the planner may read the table for each.
 */
export const endRuns = defineStatement<EndRunsParams, EndRunsRow>({
  name: "end_runs",
  text: (t) => `
with x as materialized (
  select r.id as run_id, r.retries, (
    select s.key
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = r.id
    order by s.key desc, s.item desc
    limit 1
  ) as last
  from unnest((select $2::uuid[])) i(id)
  cross join lateral (
    select r.id, r.retries, r.state, r.deadline
    from ${t.runs} r
    where r.bucket = $1::smallint and r.id = i.id
    offset 0
  ) r
  where r.state = 'running' and ($3::text = 'cancelled' or r.deadline < statement_timestamp())
),
node as materialized (
  select x.run_id, x.retries, k.key
  from x
  cross join lateral generate_series(0, x.last) k(key)
  order by x.run_id, k.key
),
locked as materialized (
  select l.run_id, n.retries, l.key, l.item, l.state, l.lease_epoch, l.lease_owner, l.started_at, l.attempts
  from ${handedOn("node", ["run_id", "retries", "key"], "n")}
  cross join lateral (
    select s.run_id, s.key, s.item, s.state, s.lease_epoch, s.lease_owner, s.started_at, s.attempts
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = n.run_id and s.key = n.key and s.item = 0
      and case when s.state in (${LIVE}) or s.unactivated then true else false end
    for no key update
  ) l
),
live as materialized (
  select l.*
  from locked l
  where l.state in (${LIVE})
),
ended_nodes as (
  select run_id, retries, count(*)::int as n
  from live
  group by run_id, retries
  order by run_id
),
${lockedRunsText(t, "locked", ["retries", "n"], "r.state = 'running' and r.retries = e.retries")},
doomed as materialized (
  select l.run_id, l.key, l.item, l.state, l.lease_epoch, l.lease_owner, l.started_at, l.attempts
  from live l
  where case when l.run_id in (select run_id from locked_runs) then true else false end
),
doomed_list as (
  select l.run_id, l.key, l.item, statement_timestamp() as at
  from ${handedOn("doomed", ["run_id", "key", "item"])}
),
cancelled as (
  update ${t.steps} s
  set state = 'cancelled', finished_at = l.at, lease_owner = null, lease_expiry = null
  from doomed_list l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state in (${LIVE}) then true else ${costlyFalse("l.key")} end
  returning s.run_id
),
called as (
  insert into ${t.attempts} (bucket, run_id, key, item, epoch, attempt, worker, started_at, outcome)
  select $1::smallint, l.run_id, l.key, l.item, l.lease_epoch, l.attempts + 1, l.lease_owner, l.started_at, 'cancelled'::${t.attemptOutcome}
  from doomed l
  where l.state = 'running'
),
ended as (
  update ${t.runs} r
  set remaining = r.remaining - l.n, state = $3::text::${t.runState}, finished_at = l.at, cancel_reason = $4::text,
    error = coalesce(r.error, $5::jsonb)
  from locked_runs l
  where r.bucket = $1::smallint and r.id = l.run_id and case when r.remaining >= l.n then true else ${costlyFalse("l.n")} end
  returning r.id, r.name
)
select (select count(*) from cancelled)::int as cancelled,
  (select jsonb_agg(id) from ended) as ended_ids,
  (select jsonb_agg(name) from ended) as ended_names`,
  params: (p) => [p.bucket, p.runIds, p.state, p.reason, p.error],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    state: "cancelled",
    reason: "no longer wanted",
    error: null,
  },
});
