import { Pool, type QueryResult, type QueryResultRow } from "pg";
import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import * as testing from "../../src/testing.ts";

/** A database of one test file's own: migrated, empty, dropped at the end. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** For the test's own looks into the tables. */
  readonly pool: Pool;
  /** What the package gives users for their tests. */
  readonly kit: testing.TestDatabase;
  query<Row extends QueryResultRow = QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
  /** Closes the pool and drops the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** Clones the run's template; takes about a tenth of a second. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const kit = await testing.createTestDatabase(inject("postgres").template);
  const { name, url } = kit;
  const pool = new Pool({ connectionString: url, max: 4, application_name: "cyclone-test" });
  // Dropping with (force) cuts idle connections; without a listener that would end the process.
  pool.on("error", () => {});
  return {
    name,
    url,
    pool,
    kit,
    query: (text, values) => pool.query(text, values),
    drop: async () => {
      if (!pool.ended) await pool.end();
      await kit.drop();
    },
  };
}

/**
 * One database for all tests of a file or a `describe`: created before the first, dropped after the last, and kept
 * when a test failed and the server outlives the run. The object's fields can be used inside tests and hooks only.
 */
export function useTestDatabase(): TestDatabase {
  let database: TestDatabase | undefined;
  let failed = false;
  const opened = (): TestDatabase => {
    if (database === undefined) throw new Error("The test database exists only while the tests of its suite run.");
    return database;
  };
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      failed = true;
    });
  });
  afterAll(async () => {
    if (database === undefined) return;
    if (failed && inject("postgres").keepsData) {
      await database.pool.end();
      console.error(`A test failed; its database is kept: ${database.name}`);
    } else {
      await database.drop();
    }
    database = undefined;
  });
  return {
    get name() {
      return opened().name;
    },
    get url() {
      return opened().url;
    },
    get pool() {
      return opened().pool;
    },
    get kit() {
      return opened().kit;
    },
    query: (text, values) => opened().query(text, values),
    drop: () => opened().drop(),
  };
}
