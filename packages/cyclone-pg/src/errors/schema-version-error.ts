import { assertNever } from "../model/assert-never.ts";
import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** What is wrong with the tables of a database schema. */
export interface SchemaVersionMismatch {
  /** `missing`: no tables; `older`: migrations are due; `newer`: made by a newer version of this package. */
  readonly reason: "missing" | "older" | "newer";
  /** The database schema. */
  readonly schema: string;
  /** The version found, `null` if there are no tables. */
  readonly found: number | null;
  /** The version that this code knows. */
  readonly expected: number;
}

/** Cyclone's tables are missing, older or newer than this code. */
export class SchemaVersionError extends CycloneError {
  declare readonly code: "CYCLONE_SCHEMA_VERSION";
  /** How the tables differ from what this code needs. */
  readonly reason: SchemaVersionMismatch["reason"];
  /** The schema that was looked at. */
  readonly schema: string;
  /** The version that is installed; `null`: none. */
  readonly found: number | null;
  /** The version that this code was written for. */
  readonly expected: number;

  constructor(mismatch: SchemaVersionMismatch, options?: ErrorOptions) {
    super("CYCLONE_SCHEMA_VERSION", describe(mismatch), options);
    this.reason = mismatch.reason;
    this.schema = mismatch.schema;
    this.found = mismatch.found;
    this.expected = mismatch.expected;
  }

  static {
    markError(this, "SchemaVersionError");
  }
}

function describe({ reason, schema, found, expected }: SchemaVersionMismatch): string {
  switch (reason) {
    case "missing":
      return `Schema "${schema}" has no tables of Cyclone: call client.migrate() first.`;
    case "older":
      return `Cyclone's tables in schema "${schema}" are at version ${found}, this code needs ${expected}: call client.migrate() first.`;
    case "newer":
      return `Cyclone's tables in schema "${schema}" are at version ${found}, this code knows ${expected}: update cyclone-pg.`;
    default:
      return assertNever(reason);
  }
}
