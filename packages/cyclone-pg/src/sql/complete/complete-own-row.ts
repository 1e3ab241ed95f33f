import { defineStatement } from "../statement.ts";

export interface CompleteOwnRowParams {
  readonly bucket: number;
  readonly runId: string;
  readonly key: number;
  readonly item: number;
  readonly epoch: number;
  readonly output: string | null;
  /** What was set when the completionTx began; gone if it was ended behind our back. Null outside a completionTx. */
  readonly token: string | null;
}

/**
 * running → completed for the own row alone, marked as not yet activated. Inside a completionTx it is the last statement before
 * COMMIT: the fence. Siblings don't wait there for each other's user transactions; downstream nodes and the run follow by
 * `complete_steps`. Also the last resort for a step whose activation fails.
 */
export const completeOwnRow = defineStatement<CompleteOwnRowParams, { completed: boolean }>({
  name: "complete_own_row",
  prepared: true,
  text: (t) => `
update ${t.steps} s
set state = 'completed', unactivated = true, output = $6::jsonb, attempts = s.attempts + 1, finished_at = statement_timestamp(), lease_owner = null, lease_expiry = null
where s.bucket = $1::smallint and s.run_id = $2::uuid and s.key = $3::int and s.item = $4::int
  and case when s.state = 'running' then s.lease_epoch = $5::int else false end
  and ($7::text is null or current_setting('cyclone.completion_tx', true) = $7)
returning true as completed`,
  params: (p) => [p.bucket, p.runId, p.key, p.item, p.epoch, p.output, p.token],
  sample: {
    bucket: 0,
    runId: "01890000-0000-7000-8000-000000000000",
    key: 0,
    item: 0,
    epoch: 1,
    output: "1",
    token: "t",
  },
});
