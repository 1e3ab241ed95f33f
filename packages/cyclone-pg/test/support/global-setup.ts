import { readFileSync } from "node:fs";
import { startEmbeddedPostgres } from "cyclone-embedded";
import type { TestProject } from "vitest/node";
import { migrate } from "../../src/migrations/migrate.ts";
import { asAdmin } from "./as-admin.ts";
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
  readonly template: string;
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
  const template = `cyclone_template_${process.pid}`;
  try {
    await createTemplate(server.url, template, bucketCount);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("postgres", { adminUrl: server.url, template, bucketCount, keepsData: server.keepsData });

  return async () => {
    await asAdmin(server.url, (admin) => admin.query(`drop database if exists ${template} with (force)`));
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

async function createTemplate(adminUrl: string, template: string, bucketCount: number): Promise<void> {
  await asAdmin(adminUrl, async (admin) => {
    await admin.query(`drop database if exists ${template} with (force)`);
    await admin.query(`create database ${template}`);
  });
  const url = new URL(adminUrl);
  url.pathname = `/${template}`;
  await asAdmin(url.href, (client) => migrate(client, { schema: "public", bucketCount }));
  // A template that is being cloned must have no visitors.
  await asAdmin(adminUrl, (admin) => admin.query(`alter database ${template} with allow_connections false`));
}
