import { defineStatement } from "../statement.ts";
import type { ReadNodesParams } from "./read-nodes.ts";

/** The edges of a run, from upstream to node. */
export const readEdges = defineStatement<ReadNodesParams, { upstream: string; node: string; data: boolean }>({
  name: "read_edges",
  text: (t) => `
select d.upstream, d.node, d.data
from ${t.deps} d
where d.bucket = $1::smallint and d.run_id = $2::uuid
order by d.upstream_key, d.node_key`,
  params: (p) => [p.bucket, p.runId],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000" },
});
