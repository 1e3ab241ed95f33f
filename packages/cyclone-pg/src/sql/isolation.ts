/**
 * Which runs a batch is about. A row that the database refuses to change fails its whole batch: then members are tried one by one
 * (`only`), and what can't be changed is left out of the next batches (`excluded`).
 */
export interface Isolation {
  /** Ids of runs, null: all. */
  readonly only: readonly string[] | null;
  readonly excluded: readonly string[];
}

export const NOTHING_ISOLATED: Isolation = { only: null, excluded: [] };

/** The condition on `s.run_id`; the parameters are `only` and `excluded`. */
export function isolated(only: string, excluded: string): string {
  return `(${only}::uuid[] is null or s.run_id = any(${only}::uuid[])) and not (s.run_id = any(${excluded}::uuid[]))`;
}
