import type { ClaimedStep, StepPlace } from "../engine/claim/claimed-step.ts";
import type { EndedRun, Outcome } from "../engine/outcome.ts";
import type { ReclaimedRow } from "../sql/sweep/reclaim-steps.ts";

/** What a worker tells of itself; the client makes events and log lines of it. */
export interface WorkerReports {
  claimed(step: ClaimedStep): void;
  /** The outcome that stands in the row, which is a discard if the database refused the call's own. */
  recorded(step: StepPlace, outcome: Outcome, durationMs: number): void;
  ended(run: EndedRun): void;
  reclaimed(rows: readonly ReclaimedRow[]): void;
  leaseLost(step: ClaimedStep): void;
  blocked(blockedMs: number): void;
  stuck(step: ClaimedStep): void;
  /** A completionTx has been open for longer than a lease. */
  longTx(step: ClaimedStep, leaseMs: number): void;
  /** The database refuses to change a row of this run, which is set aside so that it doesn't hold up others. */
  isolated(runId: string, error: unknown): void;
  /** A statement failed and is tried again. */
  trouble(error: unknown): void;
}
