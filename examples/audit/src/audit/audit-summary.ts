import type { QueryResult } from "pg";

/** What a run's rows come to: the result of the audit's run. */
export interface AuditSummary {
  readonly packages: number;
  readonly files: number;
  readonly bytes: number;
  /** Most used first. */
  readonly licences: readonly LicenceTotal[];
  readonly unlicensed: readonly PackageMention[];
  readonly copyleft: readonly PackageMention[];
  /** Packages that couldn't be read as they should. */
  readonly problems: readonly PackageMention[];
  readonly largest: readonly PackageMention[];
}

export interface LicenceTotal {
  /** null: these packages have none. */
  readonly licence: string | null;
  readonly packages: number;
  readonly files: number;
  readonly bytes: number;
}

export interface PackageMention {
  readonly path: string;
  readonly name: string;
  readonly version: string | null;
  readonly licence: string | null;
  readonly bytes: number;
  readonly problem: string | null;
}

const LARGEST_COUNT = 5;

/** Anything that runs a statement: a pool, a client, or the completion transaction of a step. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<Pick<QueryResult, "rows">>;
}

// Counts and sums are cast to what JSON has for numbers: exact up to 2^53, some 9,000 terabytes.
const TOTALS =
  "count(*)::float8 as packages, coalesce(sum(files), 0)::float8 as files, coalesce(sum(bytes), 0)::float8 as bytes";
const MENTION = "path, name, version, licence, bytes::float8 as bytes, problem";

/** Adds up the rows of one run, as the database has them at this moment. */
export async function readSummary(db: Queryable, runId: string): Promise<AuditSummary> {
  const totals = await db.query(`select ${TOTALS} from audit_packages where run_id = $1`, [runId]);
  const licences = await db.query(
    `select licence, ${TOTALS} from audit_packages where run_id = $1 group by licence order by packages desc, licence`,
    [runId],
  );
  const mentions = (condition: string, order = "path") =>
    db.query(`select ${MENTION} from audit_packages where run_id = $1 and ${condition} order by ${order}`, [runId]);
  const unlicensed = await mentions("licence is null");
  const copyleft = await mentions("copyleft");
  const problems = await mentions("problem is not null");
  const largest = await mentions("true", `bytes desc, path limit ${LARGEST_COUNT}`);
  return {
    ...(totals.rows[0] as Pick<AuditSummary, "packages" | "files" | "bytes">),
    licences: licences.rows as LicenceTotal[],
    unlicensed: unlicensed.rows as PackageMention[],
    copyleft: copyleft.rows as PackageMention[],
    problems: problems.rows as PackageMention[],
    largest: largest.rows as PackageMention[],
  };
}
