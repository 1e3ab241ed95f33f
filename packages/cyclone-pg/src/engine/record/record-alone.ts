import { errorCode, isTransient } from "../../db/database-errors.ts";
import { toStoredError } from "../../model/stored-error.ts";
import { completeOwnRow } from "../../sql/complete/complete-own-row.ts";
import type { Outcome, Settlement } from "../outcome.ts";
import { type Recorded, type RunStatement, recordBatch, recordKindOf } from "./record-batch.ts";

/** What became of a settlement that can't be recorded together with others. */
export type RecordedAlone =
  /** `outcome`: what was recorded, which may be a discard in place of a completion. */
  | { readonly kind: "recorded"; readonly outcome: Outcome; readonly recorded: Recorded }
  /** Completed; what follows from it can't be activated now, and the sweep tries again. */
  | { readonly kind: "unactivated"; readonly error: unknown }
  /** The row can't be written at all: its lease runs out. */
  | { readonly kind: "poisoned"; readonly error: unknown };

/**
 * Records one settlement whose batch the database refused. An output that can't be stored discards the node (a retry would repeat its
 * outside effects for nothing); a completion whose downstream can't be written completes its own row alone.
 * @throws transient errors: to be tried again
 */
export async function recordAlone(run: RunStatement, settlement: Settlement, owner: string): Promise<RecordedAlone> {
  const { lease, outcome } = settlement;
  try {
    return { kind: "recorded", outcome, recorded: await recordBatch(run, recordKindOf(outcome), [settlement], owner) };
  } catch (error) {
    if (isTransient(error)) throw error;
    if (outcome.kind === "committed") return { kind: "unactivated", error };
    if (outcome.kind !== "completed") return { kind: "poisoned", error };
    if (isDataError(error)) return discardInstead(run, settlement, owner, error);
    try {
      const rows = await run(completeOwnRow, { ...lease, output: outcome.output, token: null });
      if (rows.length === 0)
        return { kind: "recorded", outcome, recorded: { lost: [settlement], activated: 0, ended: [] } };
      return { kind: "unactivated", error };
    } catch (second) {
      if (isTransient(second)) throw second;
      return { kind: "poisoned", error: second };
    }
  }
}

async function discardInstead(
  run: RunStatement,
  settlement: Settlement,
  owner: string,
  cause: unknown,
): Promise<RecordedAlone> {
  try {
    const outcome = { kind: "discard", outcome: "discarded", error: toStoredError(cause) } as const;
    const recorded = await recordBatch(run, "discard", [{ ...settlement, outcome }], owner);
    return { kind: "recorded", outcome, recorded };
  } catch (error) {
    if (isTransient(error)) throw error;
    return { kind: "poisoned", error };
  }
}

/** Class 22 is bad data, class 54 a limit of the server (a value too large, too deep). */
function isDataError(error: unknown): boolean {
  return /^(22|54)/.test(errorCode(error) ?? "");
}
