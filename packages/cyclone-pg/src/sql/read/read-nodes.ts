import { defineStatement } from "../statement.ts";

export interface ReadNodesParams {
  readonly bucket: number;
  readonly runId: string;
}

export interface NodeRow {
  readonly key: number;
  readonly node: string;
  readonly kind: string;
  readonly step: string | null;
  readonly state: string;
  readonly queue: string;
  readonly priority: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly reclaims: number;
  readonly error: unknown;
  readonly progress: number | null;
  readonly progress_message: string | null;
}

/** The nodes of a run in the builder's order, without payloads and without item tasks. */
export const readNodes = defineStatement<ReadNodesParams, NodeRow>({
  name: "read_nodes",
  text: (t) => `
select s.key, s.node, s.kind::text as kind, s.step, s.state::text as state, s.queue, s.priority, s.attempts, s.max_attempts, s.reclaims,
  s.error, s.progress, s.progress_message
from ${t.steps} s
where s.bucket = $1::smallint and s.run_id = $2::uuid and s.item = 0
order by s.key`,
  params: (p) => [p.bucket, p.runId],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000" },
});
