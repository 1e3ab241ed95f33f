import { anyKey } from "../hidden-range.ts";
import { defineStatement } from "../statement.ts";

export interface FindUncountedNodesParams {
  readonly bucket: number;
  readonly runId: string;
}

export interface UncountedNodeRow {
  readonly key: number;
  readonly item: number;
  readonly epoch: number;
}

/** The nodes of a run that a completionTx has completed, and whose run and downstream nodes don't know it yet. */
export const findUncountedNodes = defineStatement<FindUncountedNodesParams, UncountedNodeRow>({
  name: "find_uncounted_nodes",
  text: (t) => `
select s.key, s.item, s.lease_epoch as epoch
from ${t.steps} s
where s.bucket = $1::smallint and s.run_id = $2::uuid and ${anyKey("s")} and case when s.state = 'completed' then s.unactivated is true else false end
order by s.key, s.item`,
  params: (p) => [p.bucket, p.runId],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000" },
});
