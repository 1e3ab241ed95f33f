import { readFileSync } from "node:fs";
import { startEmbeddedPostgres } from "cyclone-embedded";
import type { TestProject } from "vitest/node";
import { createTestTemplate, dropTestTemplate, type TestTemplate } from "../../src/testing.ts";
import { unexpectedDeadlocks } from "./unexpected-deadlocks.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgres: TestPostgres;
  }
}

/** The one server of a test run. */
export interface TestPostgres {
  /** A superuser's URL; its database is for creating and dropping others. */
  readonly adminUrl: string;
  /** The migrated database that each test database is cloned from. */
  readonly template: TestTemplate;
  readonly bucketCount: number;
  /** True if the server's databases are there after the run, so that a failed test's one is worth keeping. */
  readonly keepsData: boolean;
}

interface TestServer {
  readonly url: string;
  readonly logFile: string | null;
  readonly keepsData: boolean;
  stop(): Promise<void>;
}

/**
 * Starts the server for the run and migrates the template. `TEST_DATABASE_URL` (a superuser's) names another server;
 * `CYCLONE_TEST_DATA_DIR` keeps the embedded one's data in a folder, and `CYCLONE_TEST_BUCKET_COUNT` is the bucket count.
 */
export default async function startTestPostgres(project: TestProject): Promise<() => Promise<void>> {
  const server = await openServer(process.env["TEST_DATABASE_URL"], process.env["CYCLONE_TEST_DATA_DIR"]);
  const bucketCount = Number(process.env["CYCLONE_TEST_BUCKET_COUNT"] ?? "1");
  const template = await createTestTemplate({ server: server.url, bucketCount }).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  project.provide("postgres", { adminUrl: server.url, template, bucketCount, keepsData: server.keepsData });

  return async () => {
    await dropTestTemplate(template);
    const log = server.logFile === null ? "" : readFileSync(server.logFile, "utf8");
    await server.stop();
    const deadlocks = unexpectedDeadlocks(log);
    if (deadlocks.length === 0) return;
    process.exitCode = 1;
    throw new Error(
      `The server's log has ${deadlocks.length} deadlock(s) that no test staged:\n${deadlocks.join("\n")}`,
    );
  };
}

async function openServer(url: string | undefined, dataDir: string | undefined): Promise<TestServer> {
  if (url !== undefined && url !== "") return { url, logFile: null, keepsData: true, stop: async () => {} };
  const server = await startEmbeddedPostgres({
    ...(dataDir === undefined ? {} : { dataDir }),
    durable: false,
    settings: {
      max_connections: "200",
      log_lock_waits: "on",
      // The application's name, by which a staged deadlock is told from a real one.
      log_line_prefix: "%m [%p] app=%a db=%d ",
    },
  });
  return { url: server.url, logFile: server.logFile, keepsData: dataDir !== undefined, stop: () => server.stop() };
}
