/** One thing that must never be, seen by a check. */
export interface Violation {
  /** The check's name. */
  readonly check: string;
  /** What was seen, of which run and node, readable without the database. */
  readonly message: string;
}

/** A violation on one line. */
export function violationText(violation: Violation | string): string {
  return typeof violation === "string" ? violation : `${violation.check}: ${violation.message}`;
}
