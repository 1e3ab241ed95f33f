import { quoteIdentifier } from "../../model/names.ts";

// Databases as a whole, for tests: names can't be parameters of these commands, so they are quoted into them.

export const serverVersion = "select current_setting('server_version_num')::int as version";

export const createDatabase = (name: string): string => `create database ${quoteIdentifier(name)}`;

/** The default strategy writes the whole template into the WAL; copying files is several times faster, from Postgres 15 on. */
export const cloneDatabase = (name: string, template: string, version: number): string =>
  `create database ${quoteIdentifier(name)} template ${quoteIdentifier(template)}${version >= 150_000 ? " strategy file_copy" : ""}`;

export const dropDatabase = (name: string): string => `drop database if exists ${quoteIdentifier(name)} with (force)`;

/** A template that is being cloned must have no visitors. */
export const closeDatabase = (name: string): string =>
  `alter database ${quoteIdentifier(name)} with allow_connections false`;

export const endSessionsOf = "select pg_terminate_backend(a.pid) from pg_stat_activity a where a.datname = $1";
