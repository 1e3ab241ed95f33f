import { isConflict } from "../../db/database-errors.ts";
import { Discard } from "../../errors/discard.ts";
import type { InvalidPayloadError } from "../../errors/invalid-payload-error.ts";
import { MaxReclaimsError } from "../../errors/max-reclaims-error.ts";
import { RetryAfter } from "../../errors/retry-after.ts";
import { Snooze } from "../../errors/snooze.ts";
import { type Backoff, backoffDelayMs } from "../../model/backoff.ts";
import { type StoredError, toStoredError } from "../../model/stored-error.ts";
import type { ClaimedStep } from "../claim/claimed-step.ts";
import type { Outcome } from "../outcome.ts";

// fail: running → scheduled (backoff, snooze, interruption), → available (given back), → discarded.
// The decision is pure; one guarded statement records it, and whoever no longer holds the lease records nothing.

/** Why a call ended otherwise than by returning. */
export type CallEnd =
  /** The handler threw. */
  | { readonly kind: "threw"; readonly thrown: unknown }
  /** It took longer than its timeout. */
  | { readonly kind: "timed_out"; readonly thrown: unknown }
  /** What it returned can't be stored. */
  | { readonly kind: "unstorable"; readonly thrown: InvalidPayloadError }
  /** Its completionTx was taken away by the database: not the handler's doing. */
  | { readonly kind: "interrupted"; readonly thrown: unknown }
  /** The worker stops. */
  | { readonly kind: "shutdown" }
  /** This worker couldn't call it: no connection for a completionTx was free. */
  | { readonly kind: "crowded"; readonly thrown: unknown };

const INTERRUPTION_DELAY_MS = 1_000;
/** Those that conflict with each other come back apart, and further apart each time. */
const CONFLICT_BACKOFF = { base: INTERRUPTION_DELAY_MS, max: "64s" } as const satisfies Backoff;

/** What to record for a call that didn't complete. */
export function decideFailure(step: ClaimedStep, end: CallEnd, backoff: Backoff): Outcome {
  switch (end.kind) {
    case "shutdown":
      return { kind: "release", outcome: "released", delayMs: 0, error: null };
    case "crowded":
      return { kind: "release", outcome: "released", delayMs: INTERRUPTION_DELAY_MS, error: toStoredError(end.thrown) };
    case "interrupted":
      return interruption(step, end.thrown);
    case "unstorable":
      return { kind: "discard", outcome: "discarded", error: toStoredError(end.thrown) };
    case "timed_out":
      return charge(step, "timed_out", toStoredError(end.thrown), undefined, backoff);
    case "threw":
      return thrown(step, end.thrown, backoff);
  }
}

function thrown(step: ClaimedStep, value: unknown, backoff: Backoff): Outcome {
  const error = toStoredError(value);
  if (value instanceof Discard) return { kind: "discard", outcome: "discarded", error };
  if (value instanceof Snooze)
    return { kind: "release", outcome: "snoozed", delayMs: Math.max(1, value.delayMs), error: null };
  return charge(step, "failed", error, value instanceof RetryAfter ? value.delayMs : undefined, backoff);
}

function charge(
  step: ClaimedStep,
  outcome: "failed" | "timed_out",
  error: StoredError,
  delayMs: number | undefined,
  backoff: Backoff,
): Outcome {
  if (step.attempt >= step.maxAttempts) return { kind: "discard", outcome, error };
  return { kind: "release", outcome, delayMs: delayMs ?? backoffDelayMs(backoff, step.attempt, error), error };
}

function interruption(step: ClaimedStep, cause: unknown): Outcome {
  if (step.maxReclaims !== null && step.reclaims >= step.maxReclaims) {
    const error = new MaxReclaimsError(step.runId, step.node, step.maxReclaims, { cause });
    return { kind: "discard", outcome: "interrupted", error: toStoredError(error) };
  }
  const error = toStoredError(cause);
  const delayMs = isConflict(cause)
    ? backoffDelayMs(CONFLICT_BACKOFF, step.reclaims + 1, error)
    : INTERRUPTION_DELAY_MS;
  return { kind: "release", outcome: "interrupted", delayMs, error };
}
