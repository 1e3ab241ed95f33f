import { defineStatement } from "../statement.ts";
import { sampleTrim, type TrimRunsParams, type TrimRunsRow, trimParams, trimText } from "./trim-text.ts";

/** Trims runs that are kept as long as the client says. */
export const trimRuns = defineStatement<TrimRunsParams, TrimRunsRow>({
  name: "trim_runs",
  text: (t) => trimText(t, false),
  params: trimParams,
  sample: sampleTrim,
});
