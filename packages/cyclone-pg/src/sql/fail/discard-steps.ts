import { costlyFalse } from "../costly-false.ts";
import { handedOn } from "../handed-on.ts";
import { lockedRunsText } from "../locked-runs.ts";
import { defineStatement } from "../statement.ts";

export interface DiscardStepsParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  readonly keys: readonly number[];
  readonly items: readonly number[];
  readonly epochs: readonly number[];
  /** `failed`, `timed_out`, `discarded`, `interrupted`: a call's outcome; `reclaimed`: the sweep found the reclaims used up. */
  readonly outcomes: readonly ("failed" | "timed_out" | "discarded" | "interrupted" | "reclaimed")[];
  /** JSON text of the stored error. */
  readonly errors: readonly string[];
  readonly owner: string;
}

export interface DiscardStepsRow {
  readonly done: readonly number[] | null;
  readonly cancelled: number;
  readonly ended_ids: readonly string[] | null;
  readonly ended_names: readonly string[] | null;
  /** Some runs fail fast, and have live nodes: `find_overdue_runs` finds them. */
  readonly failing_fast: boolean;
}

/**
 * running → discarded for a batch; everything downstream → cancelled; the run gets the first error and fails once nothing else can
 * proceed. One that fails fast is overdue from now on, so that `end_runs` ends it. The closure comes from cyclone_deps, which never changes after submit. All downstream of a discarded node is pending
 * or already cancelled, so that one state is enough. A member with outcome `reclaimed` moves only if its lease is still expired.
 */
export const discardSteps = defineStatement<DiscardStepsParams, DiscardStepsRow>({
  name: "discard_steps",
  text: (t) => `
with recursive x as materialized (
  select x.run_id, x.key, x.item, x.epoch, x.outcome, x.error, x.ord::int as ord, statement_timestamp() as at,
    (x.outcome <> 'reclaimed' and x.outcome <> 'interrupted')::int as charge
  from unnest((select $2::uuid[]), (select $3::int[]), (select $4::int[]), (select $5::int[]), (select $6::text[]), (select $7::jsonb[]))
    with ordinality x(run_id, key, item, epoch, outcome, error, ord)
),
done as (
  update ${t.steps} s
  set state = 'discarded', attempts = s.attempts + x.charge, error = x.error, finished_at = x.at, lease_owner = null, lease_expiry = null
  from x
  where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    and case when s.state = 'running' then s.lease_epoch = x.epoch and (x.outcome <> 'reclaimed' or s.lease_expiry < x.at) else ${costlyFalse("x.key")} end
  returning s.run_id, s.key, s.item, s.node, s.lease_epoch, s.attempts + 1 - x.charge as attempt, s.started_at, x.outcome, x.error, x.ord
),
called as (
  insert into ${t.attempts} (bucket, run_id, key, item, epoch, attempt, worker, started_at, outcome, error)
  select $1::smallint, d.run_id, d.key, d.item, d.lease_epoch, d.attempt, $8::uuid, d.started_at, d.outcome::${t.attemptOutcome}, d.error
  from done d
),
closure(run_id, key) as (
  select run_id, key
  from done
  union
  select c.run_id, p.node_key
  from closure c
  cross join lateral (
    select e.node_key
    from ${t.deps} e
    where e.bucket = $1::smallint and e.run_id = c.run_id and e.upstream_key = c.key
    offset 0
  ) p
),
downstream as (
  select c.run_id, c.key
  from closure c
  where not exists (select from done d where d.run_id = c.run_id and d.key = c.key)
  order by c.run_id, c.key
),
locked as materialized (
  select d.run_id, d.key, 0 as item
  from downstream d
  cross join lateral (
    select 1
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = d.run_id and s.key = d.key and s.item = 0 and s.state = 'pending'
    for no key update
  ) z
),
locked_list as (
  select l.run_id, l.key, l.item, statement_timestamp() as at
  from ${handedOn("locked", ["run_id", "key", "item"])}
),
cancelled as (
  update ${t.steps} s
  set state = 'cancelled', finished_at = l.at
  from locked_list l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state = 'pending' then true else ${costlyFalse("l.key")} end
  returning s.run_id
),
ended_nodes as (
  select z.run_id, count(*)::int as n, count(z.ord)::int as failed, (array_agg(z.error order by z.ord) filter (where z.ord is not null))[1] as error
  from (
    select d.run_id, d.ord, jsonb_build_object('node', d.node) || d.error as error from done d
    union all
    select c.run_id, null, null from cancelled c
  ) z
  group by z.run_id
  order by z.run_id
),
${lockedRunsText(t, "cancelled", ["n", "failed", "error"])},
counted as (
  update ${t.runs} r
  set remaining = r.remaining - l.n, failed = r.failed + l.failed, error = coalesce(r.error, l.error),
    state = case when r.remaining = l.n and r.state = 'running' then 'failed'::${t.runState} else r.state end,
    finished_at = case when r.remaining = l.n and r.state = 'running' then l.at else r.finished_at end,
    deadline = case when r.fail_fast and r.remaining > l.n and r.state = 'running' then l.at else r.deadline end
  from locked_runs l
  where r.bucket = $1::smallint and r.id = l.run_id and case when r.remaining >= l.n then true else ${costlyFalse("l.n")} end
  returning r.id, r.name, r.state, r.fail_fast
)
select (select array_agg(ord) from done) as done, (select count(*) from cancelled)::int as cancelled,
  (select jsonb_agg(id) from counted where state <> 'running') as ended_ids,
  (select jsonb_agg(name) from counted where state <> 'running') as ended_names,
  exists (select from counted where state = 'running' and fail_fast) as failing_fast`,
  params: (p) => [p.bucket, p.runIds, p.keys, p.items, p.epochs, p.outcomes, p.errors, p.owner],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    keys: [0],
    items: [0],
    epochs: [1],
    outcomes: ["failed"],
    errors: ["{}"],
    owner: "01890000-0000-7000-8000-000000000000",
  },
});
