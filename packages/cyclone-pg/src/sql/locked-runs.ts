import { handedOn } from "./handed-on.ts";
import type { Tables } from "./tables.ts";

/**
 * The CTEs by which a transition that ends nodes comes to their runs: `ended_nodes` (by run, in order) is handed on, and `locked_runs` locks
 * the runs' rows in that order, after all rows of nodes.
 *
 * @param after the CTE that has locked the last rows of nodes
 * @param columns what `ended_nodes` has besides `run_id`
 * @param still what a run's row `r` must be like once it is locked, else it is left out; `e` are its columns in `ended_nodes`
 */
export function lockedRunsText(t: Tables, after: string, columns: readonly string[], still = "true"): string {
  const listed = ["run_id", ...columns];
  return `ended_list as (
  select ${listed.map((column) => `l.${column}`).join(", ")}
  from ${handedOn("ended_nodes", listed)}
),
locked_runs as materialized (
  select ${listed.map((column) => `e.${column}`).join(", ")}, statement_timestamp() as at
  from ended_list e
  cross join lateral (
    select 1
    from ${t.runs} r
    where r.bucket = $1::smallint and r.id = e.run_id and (select count(*) from ${after}) >= 0 and ${still}
    for no key update
  ) z
)`;
}
