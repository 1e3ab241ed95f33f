import { defineStatement } from "../statement.ts";
import { type ListedRunRow, type ListRunsParams, listRunsParams, listRunsSample, runListText } from "./run-list.ts";

/** A page of the bucket's runs, youngest first. */
export const listRuns = defineStatement<ListRunsParams, ListedRunRow>({
  name: "list_runs",
  text: (t) => runListText(t, ""),
  params: listRunsParams,
  sample: listRunsSample,
});
