import { defineStatement } from "../statement.ts";
import { type ListedRunRow, type ListRunsParams, listRunsParams, listRunsSample, runListText } from "./run-list.ts";

/** As `list_runs`, of failed and cancelled runs only, which an index of their own finds among any number of others. */
export const listUnsuccessfulRuns = defineStatement<ListRunsParams, ListedRunRow>({
  name: "list_unsuccessful_runs",
  text: (t) => runListText(t, " and r.state in ('failed', 'cancelled')"),
  params: listRunsParams,
  sample: { ...listRunsSample, states: ["failed"] },
});
