import { MaxReclaimsError } from "../../errors/max-reclaims-error.ts";
import { toStoredError } from "../../model/stored-error.ts";
import type { ExhaustedRow } from "../../sql/sweep/find-exhausted-steps.ts";
import type { StepPlace } from "../claim/claimed-step.ts";
import type { Settlement } from "../outcome.ts";

/** Which step it is; its next call would have been this attempt. */
export function exhaustedPlace(row: ExhaustedRow): StepPlace {
  return { runId: row.run_id, node: row.node, step: row.step, attempt: row.attempts + 1 };
}

/** The discard of a step whose lease ran out more often than its `maxReclaims` allows. */
export function exhaustedSettlement(bucket: number, row: ExhaustedRow): Settlement {
  return {
    lease: { bucket, runId: row.run_id, key: row.key, item: row.item, epoch: row.epoch },
    outcome: {
      kind: "discard",
      outcome: "reclaimed",
      error: toStoredError(new MaxReclaimsError(row.run_id, row.node, row.reclaims)),
    },
  };
}
