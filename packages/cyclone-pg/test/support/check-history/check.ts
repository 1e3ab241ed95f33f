import type { Tables } from "../../../src/sql/tables.ts";
import type { HistoryEvent } from "../history.ts";

/** The tables that checks read, quoted. */
export interface CheckedTables extends Tables {
  readonly audit: string;
  readonly ledger: string;
}

/** One invariant. */
export interface Check {
  /** What its violations are called. */
  readonly name: string;
  /** `safety`: holds at every commit. `liveness`: holds once faults have stopped, and everything had time to finish. */
  readonly mode: "safety" | "liveness";
  /** What must be there for it to be run. */
  readonly needs?: "audit" | "ledger" | "calls";
  /** A query whose rows are violations, each with a `message`. */
  readonly sql: (t: CheckedTables) => string;
  /** What the query gets as `$1`, a JSON array of records. */
  readonly records?: (events: readonly HistoryEvent[]) => readonly unknown[];
  /**
   * When the history is read, since processes go on appending: `before` the database's snapshot for what must have reached the
   * database, `after` it for what must have led to what is there. @default "before"
   */
  readonly reads?: "before" | "after";
}

/** What `notRetried` needs: the runs that somebody asked to retry, whose terminal states and counts may change. */
export const retriedRuns = {
  reads: "after",
  records: (events) =>
    events.filter((event) => "operation" in event && event.operation === "retry").map(({ run }) => ({ run })),
} as const satisfies Partial<Check>;

/** That nobody asked to retry the run with this id. */
export const notRetried = (runId: string): string =>
  `not exists (select from jsonb_to_recordset($1::jsonb) retried(run uuid) where retried.run = ${runId})`;

/** The words for states that don't change any more, as a list in SQL. */
export const terminal = "('completed', 'failed', 'discarded', 'cancelled')";
