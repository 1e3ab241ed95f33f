import { type Isolation, isolated, NOTHING_ISOLATED } from "../isolation.ts";
import { defineStatement } from "../statement.ts";

export interface ReclaimStepsParams {
  readonly bucket: number;
  readonly limit: number;
  /** The server must be up for so long: after a restart the owners get time to renew first. */
  readonly guardMs: number;
  readonly isolation: Isolation;
}

export interface ReclaimedRow {
  readonly run_id: string;
  readonly key: number;
  readonly item: number;
  readonly node: string;
  readonly step: string;
  readonly attempts: number;
  readonly reclaims: number;
}

/**
 * running → available where the lease has expired, reclaims + 1, no attempt charged. Steps whose reclaims are used up are left for
 * `find_exhausted_steps`. Rows that others hold are skipped, so any number of workers may sweep.
 */
export const reclaimSteps = defineStatement<ReclaimStepsParams, ReclaimedRow>({
  name: "reclaim_steps",
  text: (t) => `
with expired as materialized (
  select s.run_id, s.key, s.item, s.lease_owner, s.lease_epoch, s.started_at
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state = 'running' and s.lease_expiry < statement_timestamp()
    and (s.max_reclaims is null or s.reclaims < s.max_reclaims)
    and pg_postmaster_start_time() < statement_timestamp() - $3::float8 * interval '1 millisecond'
    and ${isolated("$4", "$5")}
  order by s.lease_expiry
  limit $2::int
  for no key update skip locked
),
reclaimed as (
  update ${t.steps} s
  set state = 'available', reclaims = s.reclaims + 1, available_at = statement_timestamp(), lease_owner = null, lease_expiry = null
  from expired e
  where s.bucket = $1::smallint and s.run_id = e.run_id and s.key = e.key and s.item = e.item
    and case when s.state = 'running' then s.lease_epoch = e.lease_epoch else false end
  returning s.run_id, s.key, s.item, s.node, s.step, s.attempts, s.reclaims, e.lease_owner, e.lease_epoch, e.started_at
),
called as (
  insert into ${t.attempts} (bucket, run_id, key, item, epoch, attempt, worker, started_at, outcome)
  select $1::smallint, r.run_id, r.key, r.item, r.lease_epoch, r.attempts + 1, r.lease_owner, r.started_at, 'reclaimed'::${t.attemptOutcome}
  from reclaimed r
)
select run_id, key, item, node, step, attempts, reclaims
from reclaimed`,
  params: (p) => [p.bucket, p.limit, p.guardMs, p.isolation.only, p.isolation.excluded],
  sample: { bucket: 0, limit: 100, guardMs: 10_000, isolation: NOTHING_ISOLATED },
});
