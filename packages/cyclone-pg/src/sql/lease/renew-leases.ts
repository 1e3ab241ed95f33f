import { costlyFalse } from "../costly-false.ts";
import { defineStatement } from "../statement.ts";

export interface RenewLeasesParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  readonly keys: readonly number[];
  readonly items: readonly number[];
  readonly epochs: readonly number[];
  readonly leaseMs: number;
}

/**
 * running → running: all leases of a worker in one statement. Returns the places of the leases that are lost. A row that a
 * completion holds is skipped, never waited for: one COMMIT that hangs must not starve the other leases; it counts as held.
 */
export const renewLeases = defineStatement<RenewLeasesParams, { lost: readonly number[] | null }>({
  name: "renew_leases",
  text: (t) => `
with x as materialized (
  select x.run_id, x.key, x.item, x.epoch, x.ord::int as ord
  from unnest((select $2::uuid[]), (select $3::int[]), (select $4::int[]), (select $5::int[])) with ordinality x(run_id, key, item, epoch, ord)
),
held as materialized (
  select x.ord, (
      select s.state = 'running' and s.lease_epoch = x.epoch
      from ${t.steps} s
      where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    ) as ours
  from x
),
locked as materialized (
  select x.run_id, x.key, x.item, x.epoch
  from x
  cross join lateral (
    select 1
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    for no key update skip locked
  ) z
),
renewed as (
  update ${t.steps} s
  set lease_expiry = statement_timestamp() + $6::float8 * interval '1 millisecond'
  from locked l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state = 'running' then s.lease_epoch = l.epoch else ${costlyFalse("l.key")} end
)
select array_agg(h.ord) as lost
from held h
where h.ours is not true`,
  params: (p) => [p.bucket, p.runIds, p.keys, p.items, p.epochs, p.leaseMs],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    keys: [0],
    items: [0],
    epochs: [1],
    leaseMs: 30_000,
  },
});
