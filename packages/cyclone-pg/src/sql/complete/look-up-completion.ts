import { defineStatement } from "../statement.ts";

export interface LookUpCompletionParams {
  readonly bucket: number;
  readonly runId: string;
  readonly key: number;
  readonly item: number;
}

/**
 * Where a step stands; answers whether a COMMIT whose reply was lost had been carried out (completed under our epoch). No row: the
 * transaction in question may still be under way and holds it, so nothing is known yet.
 */
export const lookUpCompletion = defineStatement<LookUpCompletionParams, { state: string; epoch: number }>({
  name: "look_up_completion",
  text: (t) => `
select s.state::text as state, s.lease_epoch as epoch
from ${t.steps} s
where s.bucket = $1::smallint and s.run_id = $2::uuid and s.key = $3::int and s.item = $4::int
for no key update skip locked`,
  params: (p) => [p.bucket, p.runId, p.key, p.item],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000", key: 0, item: 0 },
});
