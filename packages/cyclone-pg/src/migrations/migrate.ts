import { createHash } from "node:crypto";
import { ConnectionError } from "../errors/connection-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { SchemaVersionError } from "../errors/schema-version-error.ts";
import { checkSchemaName } from "../model/names.ts";
import { type Tables, tablesOf } from "../sql/tables.ts";
import { migrations, schemaVersion } from "./catalogue.ts";

/** One session of the database; a `pg` Client is one, a Pool isn't. */
export interface MigrationSession {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

export interface MigrateOptions {
  readonly schema: string;
  /** How many buckets a new installation has, 1 to 16,384; fixed from then on. `undefined`: 1, or what is installed. */
  readonly bucketCount?: number | undefined;
}

const LOCK_TIMEOUT_MS = 60_000;
const SLOTS = 16_384;

/**
 * Brings the tables of `schema` up to date, in one transaction, holding an advisory lock: of any number of processes that
 * start at once, one applies what is missing and the others find it done. A process killed meanwhile leaves nothing.
 * Needs the right to create objects in the schema, and CREATE on the database only if the schema doesn't exist.
 *
 * @returns the version numbers that were applied
 * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are newer than this code
 * @throws ConnectionError (`CYCLONE_CONNECTION`) if the lock isn't to be had within a minute, or the session's role lacks a right
 */
export async function migrate(session: MigrationSession, options: MigrateOptions): Promise<number[]> {
  checkSchemaName(options.schema, "The schema");
  const bucketCount = options.bucketCount ?? 1;
  if (!Number.isInteger(bucketCount) || bucketCount < 1 || bucketCount > SLOTS) {
    throw new InvalidOptionError(
      "bucketCount",
      `bucketCount must be a whole number from 1 to ${SLOTS}, not ${String(options.bucketCount)}`,
    );
  }
  const tables = tablesOf(options.schema);
  await session.query("begin isolation level read committed read write");
  try {
    await lock(session, options.schema);
    const applied = await applyPending(session, tables, options, bucketCount);
    await session.query("commit");
    return applied;
  } catch (error) {
    await session.query("rollback").catch(() => undefined); // the connection may be gone: the server rolls back by itself
    throw (error as { code?: unknown }).code === "42501" ? await missingRight(session, options.schema, error) : error;
  }
}

/** Says which right the role lacks, as far as it can be seen. Asked after the rollback: a failed transaction answers nothing. */
async function missingRight(session: MigrationSession, schema: string, cause: unknown): Promise<ConnectionError> {
  const { rows } = await session.query(
    `select quote_ident(current_user) as role, quote_ident(current_database()) as database, quote_ident($1) as schema,
      n.oid is null as no_schema, has_schema_privilege(n.oid, 'create') and has_schema_privilege(n.oid, 'usage') as may_create
     from (select 1) x left join pg_namespace n on n.nspname = $1`,
    [schema],
  );
  const { role, database, schema: quoted, no_schema, may_create } = rows[0];
  const may = `Role ${role} may not migrate the schema ${quoted}: ${(cause as Error).message}.`;
  const or = "or call migrate() with a role that may.";
  if (no_schema)
    return new ConnectionError(`${may} Run \`grant create on database ${database} to ${role}\`, ${or}`, { cause });
  if (!may_create)
    return new ConnectionError(`${may} Run \`grant usage, create on schema ${quoted} to ${role}\`, ${or}`, { cause });
  return new ConnectionError(`${may} Call migrate() with the role that owns Cyclone's tables.`, { cause });
}

async function lock(session: MigrationSession, schema: string): Promise<void> {
  const digest = createHash("sha256").update(`cyclone:${schema}`).digest();
  await session.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    await session.query("select pg_advisory_xact_lock($1::int, $2::int)", [
      digest.readInt32BE(0),
      digest.readInt32BE(4),
    ]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "55P03") throw error;
    throw new ConnectionError(
      `Another process has been migrating the schema "${schema}" for more than ${LOCK_TIMEOUT_MS / 1000} s. Look for it in pg_stat_activity; when it is done or gone, call migrate() again.`,
      { cause: error },
    );
  }
}

async function applyPending(
  session: MigrationSession,
  tables: Tables,
  options: MigrateOptions,
  bucketCount: number,
): Promise<number[]> {
  // CREATE SCHEMA IF NOT EXISTS asks for CREATE on the database even when the schema is there.
  const found = await session.query("select 1 from pg_namespace where nspname = $1", [options.schema]);
  if (found.rows.length === 0) await session.query(`create schema if not exists ${tables.schema}`);
  await session.query(
    `create table if not exists ${tables.migrations} (version int primary key, name text not null, applied_at timestamptz not null default statement_timestamp())`,
  );
  const { rows } = await session.query(`select coalesce(max(version), 0) as version from ${tables.migrations}`);
  const installed = Number(rows[0].version);
  if (installed > schemaVersion) {
    throw new SchemaVersionError({
      reason: "newer",
      schema: options.schema,
      found: installed,
      expected: schemaVersion,
    });
  }
  const pending = migrations.filter((migration) => migration.version > installed);
  for (const migration of pending) {
    await session.query(migration.text(tables, bucketCount));
    await session.query(`insert into ${tables.migrations} (version, name) values ($1, $2)`, [
      migration.version,
      migration.name,
    ]);
  }
  if (installed > 0) await checkBucketCount(session, tables, options);
  return pending.map((migration) => migration.version);
}

async function checkBucketCount(session: MigrationSession, tables: Tables, options: MigrateOptions): Promise<void> {
  if (options.bucketCount === undefined) return;
  const { rows } = await session.query(
    `select value::int as count from ${tables.settings} where name = 'bucket_count'`,
  );
  const installed = Number(rows[0]?.count);
  if (installed === options.bucketCount) return;
  throw new InvalidOptionError(
    "bucketCount",
    `The schema "${options.schema}" was installed with bucketCount ${installed}; it can't be changed to ${options.bucketCount} afterwards. Leave the option out, or install into another schema.`,
  );
}
