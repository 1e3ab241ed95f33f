import { randomBytes } from "node:crypto";
import { migrate } from "../migrations/migrate.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { closeDatabase, createDatabase, dropDatabase, endSessionsOf } from "../sql/testing/databases.ts";
import { asAdmin, urlOf } from "./admin.ts";

/** Options of {@link createTestTemplate}. */
export interface TestTemplateOptions {
  /** A URL of the server, of a role that may create databases. The database that it names isn't touched. */
  server: string;
  /** The schema of Cyclone's tables. @default "public" */
  schema?: string;
  /** Into how many buckets the installation is divided. @default 1 */
  bucketCount?: number;
  /** Your own tables: called once, with the template's URL, after Cyclone's migrations. @default none */
  prepare?: (url: string) => unknown;
}

/** Where test databases are cloned from. Plain data, so that a test run's set-up can hand it to its processes. */
export interface TestTemplate {
  /** The URL of the server that it is on. */
  readonly server: string;
  /** The name of the database that is cloned. */
  readonly name: string;
  /** The schema of Cyclone's tables in it. */
  readonly schema: string;
}

/**
 * Creates a database with Cyclone's tables, and yours, for {@link createTestDatabase} to clone: once per test run. Afterwards nobody
 * can connect to it, and whoever `prepare` left connected is cut off. {@link dropTestTemplate} removes it.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`), and whatever the server or `prepare` throws; nothing is left then
 */
export async function createTestTemplate(options: TestTemplateOptions): Promise<TestTemplate> {
  rejectUnknownKeys(options, ["server", "schema", "bucketCount", "prepare"], "createTestTemplate");
  const { server, schema = "public", bucketCount, prepare } = options;
  const name = `cyclone_template_${process.pid}_${randomBytes(4).toString("hex")}`;
  await asAdmin(server, (admin) => admin.query(createDatabase(name)));
  const template = { server, name, schema };
  try {
    const url = urlOf(server, name);
    await asAdmin(url, (session) => migrate(session, { schema, bucketCount }));
    await prepare?.(url);
    await asAdmin(server, async (admin) => {
      await admin.query(closeDatabase(name));
      await admin.query(endSessionsOf, [name]);
    });
  } catch (error) {
    await dropTestTemplate(template);
    throw error;
  }
  return template;
}

/** Removes what {@link createTestTemplate} made. Databases that were cloned from it stay. */
export async function dropTestTemplate({ server, name }: TestTemplate): Promise<void> {
  await asAdmin(server, (admin) => admin.query(dropDatabase(name)));
}
