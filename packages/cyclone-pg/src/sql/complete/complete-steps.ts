import { costlyFalse } from "../costly-false.ts";
import { handedOn } from "../handed-on.ts";
import { lockedRunsText } from "../locked-runs.ts";
import { defineStatement } from "../statement.ts";

export interface CompleteStepsParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  readonly keys: readonly number[];
  readonly items: readonly number[];
  readonly epochs: readonly number[];
  /** JSON text, null: no output. */
  readonly outputs: readonly (string | null)[];
  /** true: a completionTx has already completed the step, and only its activation is missing. */
  readonly committed: readonly boolean[];
}

export interface CompleteStepsRow {
  /** Places (from 1) of the batch's members that moved; the others were no longer ours. */
  readonly done: readonly number[] | null;
  /** Downstream nodes that became available. */
  readonly activated: number;
  readonly ended_ids: readonly string[] | null;
  readonly ended_names: readonly string[] | null;
  readonly ended_states: readonly string[] | null;
}

/**
 * running → completed for a batch, then for each: downstream nodes count down, and become available at zero; the run counts
 * down, and ends at zero. Sorted by (run, key, item) by the caller: own rows, then downstream rows by key, then the runs' rows,
 * which are held for the last instant only. A member whose lease epoch isn't the row's is left out.
 *
 * `locked_list` hands rows on as arrays, which the planner takes for ten whatever they hold: a single one would be compared with every
 * row, a hundred would be joined with the whole bucket.
 * Fan-in is a decrement under the row's lock, re-read when another transaction held it; a count of unfinished upstreams
 * would let two of them each see the other unfinished, and the node would be stranded.
 */
export const completeSteps = defineStatement<CompleteStepsParams, CompleteStepsRow>({
  name: "complete_steps",
  text: (t) => `
with x as materialized (
  select x.run_id, x.key, x.item, x.epoch, x.output, x.committed, x.ord::int as ord, statement_timestamp() as at
  from unnest((select $2::uuid[]), (select $3::int[]), (select $4::int[]), (select $5::int[]), (select $6::jsonb[]), (select $7::boolean[]))
    with ordinality x(run_id, key, item, epoch, output, committed, ord)
),
done as (
  update ${t.steps} s
  set state = 'completed', unactivated = null, lease_owner = null, lease_expiry = null,
    output = case when x.committed then s.output else x.output end,
    attempts = case when x.committed then s.attempts else s.attempts + 1 end,
    finished_at = case when x.committed then s.finished_at else x.at end
  from x
  where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    and case
      when s.state = 'running' then not x.committed and s.lease_epoch = x.epoch
      when s.state = 'completed' then x.committed and s.unactivated is true
      else ${costlyFalse("x.key")}
    end
  returning s.run_id, s.downs, x.ord
),
d as (
  select e.run_id, p.key, count(*)::int as n
  from done e
  cross join lateral unnest(e.downs) p(key)
  group by e.run_id, p.key
  order by e.run_id, p.key
),
locked as materialized (
  select d.run_id, d.key, 0 as item, d.n
  from d
  cross join lateral (
    select 1
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = d.run_id and s.key = d.key and s.item = 0 and s.state = 'pending'
    for no key update
  ) z
),
locked_list as (
  select l.run_id, l.key, l.item, l.n, statement_timestamp() as at
  from ${handedOn("locked", ["run_id", "key", "item", "n"])}
),
activated as (
  update ${t.steps} s
  set pending = s.pending - l.n,
    state = case when s.pending = l.n then 'available'::${t.stepState} else s.state end,
    available_at = case when s.pending = l.n then l.at end
  from locked_list l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state = 'pending' then true else ${costlyFalse("l.key")} end
  returning s.state
),
ended_nodes as (
  select run_id, count(*)::int as n
  from done
  group by run_id
  order by run_id
),
${lockedRunsText(t, "activated", ["n"])},
counted as (
  update ${t.runs} r
  set remaining = r.remaining - l.n,
    state = case
      when r.remaining > l.n or r.state <> 'running' then r.state
      when r.failed = 0 then 'completed'::${t.runState}
      else 'failed'::${t.runState}
    end,
    finished_at = case when r.remaining = l.n and r.state = 'running' then l.at else r.finished_at end
  from locked_runs l
  where r.bucket = $1::smallint and r.id = l.run_id and case when r.remaining >= l.n then true else ${costlyFalse("l.n")} end
  returning r.id, r.name, r.state
)
select (select array_agg(ord) from done) as done,
  (select count(*) from activated where state = 'available')::int as activated,
  (select jsonb_agg(id) from counted where state <> 'running') as ended_ids,
  (select jsonb_agg(name) from counted where state <> 'running') as ended_names,
  (select jsonb_agg(state) from counted where state <> 'running') as ended_states`,
  params: (p) => [p.bucket, p.runIds, p.keys, p.items, p.epochs, p.outputs, p.committed],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    keys: [0],
    items: [0],
    epochs: [1],
    outputs: ["1"],
    committed: [false],
  },
});
