import { type Isolation, isolated, NOTHING_ISOLATED } from "../isolation.ts";
import { defineStatement } from "../statement.ts";

export interface FindUnactivatedStepsParams {
  readonly bucket: number;
  readonly limit: number;
  /** Younger ones are left to the worker that completed them. */
  readonly olderThanMs: number;
  readonly isolation: Isolation;
}

/** Steps that a completionTx completed and whose worker never came to activate what follows: for `complete_steps`. */
export const findUnactivatedSteps = defineStatement<
  FindUnactivatedStepsParams,
  { run_id: string; key: number; item: number; epoch: number }
>({
  name: "find_unactivated_steps",
  text: (t) => `
select s.run_id, s.key, s.item, s.lease_epoch as epoch
from ${t.steps} s
where s.bucket = $1::smallint and s.unactivated and s.finished_at < statement_timestamp() - $3::float8 * interval '1 millisecond'
  and ${isolated("$4", "$5")}
order by s.finished_at
limit $2::int`,
  params: (p) => [p.bucket, p.limit, p.olderThanMs, p.isolation.only, p.isolation.excluded],
  sample: { bucket: 0, limit: 1000, olderThanMs: 1000, isolation: NOTHING_ISOLATED },
});
