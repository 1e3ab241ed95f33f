import { defineStatement } from "../statement.ts";
import { sampleTrim, type TrimRunsParams, type TrimRunsRow, trimParams, trimText } from "./trim-text.ts";

/** Trims runs with a retention of their own; `retentionMs` is then the shortest that is looked for: 0. */
export const trimRunsByOwnRetention = defineStatement<TrimRunsParams, TrimRunsRow>({
  name: "trim_runs_by_own_retention",
  text: (t) => trimText(t, true),
  params: trimParams,
  sample: sampleTrim,
});
