import { defineStatement } from "../statement.ts";

export interface ReadLostLeasesParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
}

export interface LostLeaseRow {
  readonly run_id: string;
  readonly state: "running" | "completed" | "failed" | "cancelled";
  readonly cancel_reason: string | null;
}

/** How the runs of lost leases stand: it tells a handler whether its run was cancelled, has failed, or goes on elsewhere. */
export const readLostLeases = defineStatement<ReadLostLeasesParams, LostLeaseRow>({
  name: "read_lost_leases",
  text: (t) => `
select r.id as run_id, r.state::text as state, r.cancel_reason
from unnest((select $2::uuid[])) x(run_id)
cross join lateral (
  select r.id, r.state, r.cancel_reason
  from ${t.runs} r
  where r.bucket = $1::smallint and r.id = x.run_id
  offset 0
) r`,
  params: (p) => [p.bucket, p.runIds],
  sample: { bucket: 0, runIds: ["01890000-0000-7000-8000-000000000000"] },
});
