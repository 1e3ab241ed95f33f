import { isMissingSchema } from "../db/database-errors.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { SchemaVersionError } from "../errors/schema-version-error.ts";
import { schemaVersion } from "../migrations/catalogue.ts";
import { readInstallation } from "../sql/read/read-installation.ts";

/** What is installed in the database: asked when it is first needed, then remembered. */
export class Installation {
  readonly #run: RunStatement;
  readonly #schema: string;
  #bucketCount: Promise<number> | undefined;

  constructor(run: RunStatement, schema: string) {
    this.#run = run;
    this.#schema = schema;
  }

  /** @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are missing or of another version */
  bucketCount(): Promise<number> {
    this.#bucketCount ??= this.#read().catch((error: unknown) => {
      this.#bucketCount = undefined; // the next call asks again: somebody may have migrated meanwhile
      throw error;
    });
    return this.#bucketCount;
  }

  async #read(): Promise<number> {
    const found = await this.#ask();
    const mismatch = { schema: this.#schema, found: found?.version ?? null, expected: schemaVersion };
    if (found === undefined || found.version === null) throw new SchemaVersionError({ reason: "missing", ...mismatch });
    if (found.version < schemaVersion) throw new SchemaVersionError({ reason: "older", ...mismatch });
    // A worker one minor version behind keeps running on newer tables: migrations are made so.
    return found.bucket_count;
  }

  async #ask(): Promise<{ version: number | null; bucket_count: number } | undefined> {
    try {
      const [row] = await this.#run(readInstallation, null);
      return row;
    } catch (error) {
      if (isMissingSchema(error)) return undefined;
      throw error;
    }
  }
}
