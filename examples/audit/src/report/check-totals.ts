import type { Pool } from "pg";
import type { AuditSummary } from "../audit/audit-summary.ts";

/** The rows of a run, counted by the report itself. */
export interface TableTotals {
  readonly rows: number;
  readonly paths: number;
  readonly bytes: number;
}

/** Counts a run's rows once more, apart from the run's own summary. */
export async function readTableTotals(pool: Pool, runId: string): Promise<TableTotals> {
  const { rows } = await pool.query<TableTotals>(
    `select count(*)::float8 as rows, count(distinct path)::float8 as paths, coalesce(sum(bytes), 0)::float8 as bytes
     from audit_packages where run_id = $1`,
    [runId],
  );
  return rows[0] ?? { rows: 0, paths: 0, bytes: 0 };
}

/**
 * Compares what was listed, what is in the table and what the summary says.
 *
 * @returns what doesn't agree; nothing if all does
 */
export function checkTotals(listed: number, table: TableTotals, summary: AuditSummary): string[] {
  const byLicence = (pick: (total: AuditSummary["licences"][number]) => number) =>
    summary.licences.reduce((sum, total) => sum + pick(total), 0);
  const comparisons: readonly (readonly [what: string, left: number, right: number])[] = [
    ["packages listed, and rows in the table", listed, table.rows],
    ["rows in the table, and different paths in it", table.rows, table.paths],
    ["rows in the table, and packages in the summary", table.rows, summary.packages],
    ["packages in the summary, and by licence", summary.packages, byLicence((total) => total.packages)],
    ["bytes in the table, and in the summary", table.bytes, summary.bytes],
    ["bytes in the summary, and by licence", summary.bytes, byLicence((total) => total.bytes)],
  ];
  return comparisons
    .filter(([, left, right]) => left !== right)
    .map(([what, left, right]) => `${what}: ${left} and ${right}`);
}
