import { defineStatement } from "../statement.ts";
import { insertNodesText, insertRunsText, submitParams } from "./fragments.ts";
import { type SubmitParams, sampleSubmit } from "./rows.ts";

/**
 * Inserts runs without idempotency keys, with their nodes and edges, whole or not at all. Run again after a lost reply it fails
 * with 23505, which then says that it had been committed: run ids are made by the client.
 */
export const submitRuns = defineStatement<SubmitParams, { inserted: number }>({
  name: "submit_runs",
  text: (t) => `
with r as (${insertRunsText(t)}
  returning 1
),
${insertNodesText(t, "true")}
select count(*)::int as inserted
from r`,
  params: submitParams,
  sample: sampleSubmit,
});
