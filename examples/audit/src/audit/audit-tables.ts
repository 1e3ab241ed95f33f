import type { Pool } from "pg";

/**
 * The audit's own tables, beside those of Cyclone in the same database.
 *
 * `audit_packages` has no unique constraint on purpose: if a package were written twice, it would be there twice, and the report's
 * check would say so. That it never is comes from the transaction that the rows are written in, not from a constraint.
 */
const CREATE = `
  create table if not exists audit_runs (
    run_id uuid primary key,
    folder text not null,
    number integer not null,
    packages integer not null,
    started_at timestamptz not null default statement_timestamp(),
    unique (folder, number)
  );
  create table if not exists audit_packages (
    run_id uuid not null,
    path text not null,
    name text not null,
    version text,
    licence text,
    licence_source text not null,
    licence_files text[] not null,
    copyleft boolean not null,
    files bigint not null,
    bytes bigint not null,
    problem text
  );
  create index if not exists audit_packages_run on audit_packages (run_id);
`;

/** Creates the tables where they are missing. Any number of processes may do so at once. */
export async function createAuditTables(pool: Pool): Promise<void> {
  // "if not exists" alone fails when two processes create the same table at one time. Statements that are sent as one text
  // are one transaction, so the lock is held until the last of them.
  await pool.query(`select pg_advisory_xact_lock(hashtext('cyclone audit tables')); ${CREATE}`);
}
