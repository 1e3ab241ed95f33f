/**
 * A condition that is never true (a value of the batch is never null), for the branch of an UPDATE's guard that no row of the batch should
 * reach. It is there for its price, which the planner adds for each pair of rows that it would compare: statistics that were taken
 * when a table was next to empty let a nested loop over all rows and all members look as cheap as anything, and this makes any other
 * plan cheaper. A text search function is the only kind of built-in one that is taken for expensive. See docs/decisions/0002-plans.md.
 *
 * @param value a column of the batch, so that the condition belongs to the join
 */
export function costlyFalse(value: string): string {
  return `to_tsvector('simple', ${value}::text) is null`;
}
