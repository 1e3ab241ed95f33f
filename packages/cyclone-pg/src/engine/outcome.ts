import type { StoredError } from "../model/stored-error.ts";
import type { ReleaseOutcome } from "../sql/fail/release-steps.ts";
import type { Lease } from "./lease.ts";

/** How a call of a handler ended, as it is to be recorded. */
export type Outcome =
  | { readonly kind: "completed" /** JSON text, null: none. */; readonly output: string | null }
  /** The completionTx has committed the completion; what follows from it is still to be activated. */
  | { readonly kind: "committed" }
  | {
      readonly kind: "release";
      readonly outcome: ReleaseOutcome;
      readonly delayMs: number;
      readonly error: StoredError | null;
    }
  | { readonly kind: "discard"; readonly outcome: DiscardOutcome; readonly error: StoredError };

export type DiscardOutcome = "failed" | "timed_out" | "discarded" | "interrupted" | "reclaimed";

/** An outcome with the lease under which it may be recorded. */
export interface Settlement {
  readonly lease: Lease;
  readonly outcome: Outcome;
}

/** A run that ended by what was recorded. */
export interface EndedRun {
  readonly runId: string;
  readonly name: string;
  readonly state: "completed" | "failed" | "cancelled";
}
