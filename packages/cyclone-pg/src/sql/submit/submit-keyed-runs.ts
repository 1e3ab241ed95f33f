import { defineStatement } from "../statement.ts";
import { insertNodesText, insertRunsText, submitParams } from "./fragments.ts";
import { type SubmitParams, sampleSubmit } from "./rows.ts";

/**
 * Inserts those runs whose idempotency key is free, with their nodes and edges, and returns their ids. A key that a
 * transaction in progress holds is waited for. Batches are sorted by key, so that two of them can't wait crosswise.
 */
export const submitKeyedRuns = defineStatement<SubmitParams, { id: string }>({
  name: "submit_keyed_runs",
  // "(… in (…)) is true" keeps the sub-select a hashed one: as a semi-join it may become a nested loop over both lists.
  text: (t) => `
with r as (${insertRunsText(t)}
  on conflict (bucket, kind, name, idempotency_key) where idempotency_key is not null do nothing
  returning r.id
),
${insertNodesText(t, "(x.run_id in (select id from r)) is true")}
select id::text as id
from r`,
  params: submitParams,
  sample: sampleSubmit,
});
