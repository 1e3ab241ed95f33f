import { setTimeout as delay } from "node:timers/promises";
import { isLoginRefused, isMissingSchema, isTransient } from "../db/database-errors.ts";
import { ClientStoppedError } from "../errors/client-stopped-error.ts";
import { SchemaVersionError } from "../errors/schema-version-error.ts";
import { schemaVersion } from "../migrations/catalogue.ts";
import { readInstallation } from "../sql/read/read-installation.ts";
import type { Statements } from "./statements.ts";

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/** What is installed in the database: asked when it is first needed, then remembered. */
export class Installation {
  readonly #statements: Pick<Statements, "runPlainly" | "told">;
  readonly #schema: string;
  #bucketCount: Promise<number> | undefined;

  constructor(statements: Pick<Statements, "runPlainly" | "told">, schema: string) {
    this.#statements = statements;
    this.#schema = schema;
  }

  /**
   * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are missing or of another version
   * @throws ConnectionError (`CYCLONE_CONNECTION`) if there is no usable connection
   */
  bucketCount(): Promise<number> {
    return this.#statements.told(this.bucketCountPlainly());
  }

  /** The same with the driver's errors: for those who decide by them whether to go on. */
  bucketCountPlainly(): Promise<number> {
    this.#bucketCount ??= this.#read().catch((error: unknown) => {
      this.#bucketCount = undefined; // the next call asks again: somebody may have migrated meanwhile
      throw error;
    });
    return this.#bucketCount;
  }

  /**
   * As {@link bucketCount}, and waits for a database that can't be reached, as long as it takes.
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`) when `signal` fires meanwhile
   */
  reach(signal: AbortSignal, onUnreachable: (error: unknown) => void): Promise<number> {
    return this.#statements.told(this.#reach(signal, onUnreachable));
  }

  async #reach(signal: AbortSignal, onUnreachable: (error: unknown) => void): Promise<number> {
    for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(RETRY_MAX_MS, waitMs * 2)) {
      try {
        return await this.bucketCountPlainly();
      } catch (error) {
        if (!isTransient(error) || isLoginRefused(error)) throw error;
        onUnreachable(error);
        await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {
          throw new ClientStoppedError();
        });
      }
    }
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
      const [row] = await this.#statements.runPlainly(readInstallation, null);
      return row;
    } catch (error) {
      if (isMissingSchema(error)) return undefined;
      throw error;
    }
  }
}
