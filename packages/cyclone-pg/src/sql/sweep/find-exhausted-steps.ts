import { isolated, NOTHING_ISOLATED } from "../isolation.ts";
import { defineStatement } from "../statement.ts";
import type { ReclaimStepsParams } from "./reclaim-steps.ts";

export interface ExhaustedRow {
  readonly run_id: string;
  readonly key: number;
  readonly item: number;
  readonly node: string;
  readonly step: string;
  readonly epoch: number;
  readonly attempts: number;
  readonly reclaims: number;
}

/** Steps whose lease has expired and whose reclaims are used up: for `discard_steps`, which checks both again. */
export const findExhaustedSteps = defineStatement<ReclaimStepsParams, ExhaustedRow>({
  name: "find_exhausted_steps",
  text: (t) => `
select s.run_id, s.key, s.item, s.node, s.step, s.lease_epoch as epoch, s.attempts, s.reclaims
from ${t.steps} s
where s.bucket = $1::smallint and s.state = 'running' and s.lease_expiry < statement_timestamp() and s.reclaims >= s.max_reclaims
  and pg_postmaster_start_time() < statement_timestamp() - $3::float8 * interval '1 millisecond'
  and ${isolated("$4", "$5")}
order by s.lease_expiry
limit $2::int`,
  params: (p) => [p.bucket, p.limit, p.guardMs, p.isolation.only, p.isolation.excluded],
  sample: { bucket: 0, limit: 100, guardMs: 10_000, isolation: NOTHING_ISOLATED },
});
