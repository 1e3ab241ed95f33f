import { defineStatement } from "../statement.ts";

/** Which batch failed: a claim, a promotion, a reclaim. */
export type SuspectKind = "available" | "due" | "expired";

export interface FindSuspectsParams {
  readonly bucket: number;
  readonly kind: SuspectKind;
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  readonly limit: number;
  readonly excluded: readonly string[];
}

/** Runs whose rows a batch would have changed, when the database has refused the batch: one of them is the reason. */
export const findSuspects = defineStatement<FindSuspectsParams, { run_id: string }>({
  name: "find_suspects",
  text: (t) => `
select distinct z.run_id
from (
  select a.run_id
  from unnest($3::text[]) q(queue)
  cross join unnest($4::text[]) p(step)
  cross join lateral (
    select s.run_id
    from ${t.steps} s
    where s.bucket = $1::smallint and s.queue = q.queue and s.step = p.step and s.state = 'available' and not (s.run_id = any($6::uuid[]))
    order by s.priority desc, s.available_at
    limit $5::int
  ) a
  where $2 = 'available'
  union all
  (
    select s.run_id
    from ${t.steps} s
    where $2 = 'due' and s.bucket = $1::smallint and s.state = 'scheduled' and s.available_at <= statement_timestamp() and not (s.run_id = any($6::uuid[]))
    order by s.available_at
    limit $5::int
  )
  union all
  (
    select s.run_id
    from ${t.steps} s
    where $2 = 'expired' and s.bucket = $1::smallint and s.state = 'running' and s.lease_expiry < statement_timestamp() and not (s.run_id = any($6::uuid[]))
    order by s.lease_expiry
    limit $5::int
  )
) z`,
  params: (p) => [p.bucket, p.kind, p.queues, p.steps, p.limit, p.excluded],
  sample: { bucket: 0, kind: "available", queues: ["default"], steps: ["fetch"], limit: 100, excluded: [] },
});
