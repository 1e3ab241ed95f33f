import { type Isolation, isolated, NOTHING_ISOLATED } from "../isolation.ts";
import { defineStatement } from "../statement.ts";

export interface PromoteStepsParams {
  readonly bucket: number;
  readonly limit: number;
  readonly isolation: Isolation;
}

/** scheduled → available where the time has come. `available_at` stays: it is what the order of claims goes by. */
export const promoteSteps = defineStatement<PromoteStepsParams, { promoted: number }>({
  name: "promote_steps",
  text: (t) => `
with due as materialized (
  select s.run_id, s.key, s.item
  from ${t.steps} s
  where s.bucket = $1::smallint and s.state = 'scheduled' and s.available_at <= statement_timestamp()
    and ${isolated("$3", "$4")}
  order by s.available_at
  limit $2::int
  for no key update skip locked
),
promoted as (
  update ${t.steps} s
  set state = 'available'
  from due d
  where s.bucket = $1::smallint and s.run_id = d.run_id and s.key = d.key and s.item = d.item
    and case when s.state = 'scheduled' then true else false end
  returning 1
)
select count(*)::int as promoted
from promoted`,
  params: (p) => [p.bucket, p.limit, p.isolation.only, p.isolation.excluded],
  sample: { bucket: 0, limit: 1000, isolation: NOTHING_ISOLATED },
});
