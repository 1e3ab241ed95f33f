import { costlyFalse } from "../costly-false.ts";
import { defineStatement } from "../statement.ts";

/** Why a call ended without completing or discarding its step. */
export type ReleaseOutcome = "failed" | "timed_out" | "snoozed" | "released" | "interrupted";

export interface ReleaseStepsParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  readonly keys: readonly number[];
  readonly items: readonly number[];
  readonly epochs: readonly number[];
  readonly outcomes: readonly ReleaseOutcome[];
  /** How long the step is scheduled; 0: available at once. */
  readonly delaysMs: readonly number[];
  /** JSON text of the stored error, or null. */
  readonly errors: readonly (string | null)[];
  readonly owner: string;
}

/**
 * running → scheduled (or available) for a batch: the handler failed and has attempts left, snoozed, was interrupted, or gives its
 * step back. A failure is charged; it and a snooze end the count of reclaims. An interruption counts as a reclaim. Each call gets its row in
 * cyclone_attempts. Returns the places of the members that moved.
 */
export const releaseSteps = defineStatement<ReleaseStepsParams, { done: readonly number[] | null }>({
  name: "release_steps",
  text: (t) => `
with x as materialized (
  select x.run_id, x.key, x.item, x.epoch, x.outcome, x.error, x.ord::int as ord, x.delay_ms > 0 as later,
    statement_timestamp() + x.delay_ms * interval '1 millisecond' as due,
    (x.outcome in ('failed', 'timed_out'))::int as charge, (x.outcome = 'interrupted')::int as reclaim, (x.outcome = 'snoozed')::int as snooze
  from unnest((select $2::uuid[]), (select $3::int[]), (select $4::int[]), (select $5::int[]), (select $6::text[]), (select $7::float8[]), (select $8::jsonb[]))
    with ordinality x(run_id, key, item, epoch, outcome, delay_ms, error, ord)
),
done as (
  update ${t.steps} s
  set state = case when x.later then 'scheduled'::${t.stepState} else 'available'::${t.stepState} end,
    available_at = x.due, attempts = s.attempts + x.charge, snoozes = s.snoozes + x.snooze,
    reclaims = case when x.charge = 1 or x.snooze = 1 then 0 else s.reclaims + x.reclaim end,
    error = coalesce(x.error, s.error), lease_owner = null, lease_expiry = null
  from x
  where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    and case when s.state = 'running' then s.lease_epoch = x.epoch else ${costlyFalse("x.key")} end
  returning s.run_id, s.key, s.item, s.lease_epoch, s.attempts + 1 - x.charge as attempt, s.started_at, x.outcome, x.error, x.ord
),
called as (
  insert into ${t.attempts} (bucket, run_id, key, item, epoch, attempt, worker, started_at, outcome, error)
  select $1::smallint, d.run_id, d.key, d.item, d.lease_epoch, d.attempt, $9::uuid, d.started_at, d.outcome::${t.attemptOutcome}, d.error
  from done d
)
select array_agg(ord) as done
from done`,
  params: (p) => [p.bucket, p.runIds, p.keys, p.items, p.epochs, p.outcomes, p.delaysMs, p.errors, p.owner],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    keys: [0],
    items: [0],
    epochs: [1],
    outcomes: ["failed"],
    delaysMs: [1000],
    errors: ["{}"],
    owner: "01890000-0000-7000-8000-000000000000",
  },
});
