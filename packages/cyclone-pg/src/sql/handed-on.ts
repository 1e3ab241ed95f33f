/**
 * The rows of a CTE, handed on as arrays, which the planner takes for ten rows whatever they hold: of the CTE itself it may expect one, and then
 * compares it with every row of a table, or thousands, and then reads the table as a whole (docs/decisions/0002-plans.md).
 *
 * @param columns of the CTE, named alike in what comes out
 */
export function handedOn(cte: string, columns: readonly string[], alias = "l"): string {
  const arrays = columns.map((column) => `(select array_agg(${column}) from ${cte})`);
  return `unnest(${arrays.join(", ")}) ${alias}(${columns.join(", ")})`;
}
