import type { ClaimedRow } from "../../sql/claim/claim-steps.ts";
import type { Lease } from "../lease.ts";

/** A step that this worker has claimed, with all that its handler's call needs. */
export interface ClaimedStep extends Lease {
  readonly node: string;
  readonly step: string;
  readonly queue: string;
  /** This call's number, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly reclaims: number;
  /** null: no bound. */
  readonly maxReclaims: number | null;
  readonly snoozes: number;
  /** The node's own timeout; null: the step's. */
  readonly timeoutMs: number | null;
  /** The run's; null: none. */
  readonly traceparent: string | null;
  /** The run's, in milliseconds since 1970; null: none. */
  readonly deadlineMs: number | null;
  /** How long it was available before this claim. */
  readonly waitedMs: number;
  readonly hasInput: boolean;
  /** The declared input; with references if `outputs` isn't null. */
  readonly input: unknown;
  readonly outputs: readonly (readonly unknown[])[] | null;
  /** What the input refers to is larger than `maxInputBytes`, and wasn't read. */
  readonly oversized: boolean;
}

/** Which step a call was of, or would have been. */
export type StepPlace = Pick<ClaimedStep, "runId" | "node" | "step" | "attempt">;

export function claimedStep(bucket: number, row: ClaimedRow): ClaimedStep {
  return {
    bucket,
    runId: row.run_id,
    key: row.key,
    item: row.item,
    epoch: row.epoch,
    node: row.node,
    step: row.step,
    queue: row.queue,
    attempt: row.attempts + 1,
    maxAttempts: row.max_attempts,
    reclaims: row.reclaims,
    maxReclaims: row.max_reclaims,
    snoozes: row.snoozes,
    timeoutMs: row.timeout_ms,
    traceparent: row.traceparent,
    deadlineMs: row.deadline_ms,
    waitedMs: Math.max(0, row.waited_ms),
    hasInput: row.has_input,
    input: row.input,
    outputs: row.outputs,
    oversized: row.oversized,
  };
}
