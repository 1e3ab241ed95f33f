import { isAbsolute, relative } from "node:path";
import { startEmbeddedPostgres } from "cyclone-embedded";
import pg from "pg";
import type { Display } from "./display.ts";

/** A Postgres that is up, with a pool for the program's own statements. */
export interface Database extends AsyncDisposable {
  readonly url: string;
  readonly pool: pg.Pool;
}

/** The embedded Postgres with its data in `dataDir`, or the one at `url`, which is left as it is at the end. */
export async function openDatabase(
  where: { readonly dataDir: string } | { readonly url: string },
  display: Display,
): Promise<Database> {
  const server = "url" in where ? useGiven(where.url, display) : await startEmbedded(where.dataDir, display);
  const pool = new pg.Pool({ connectionString: server.url, max: 4 });
  pool.on("error", (error) => display.note(`a database connection was lost: ${error.message}`));
  return {
    url: server.url,
    pool,
    [Symbol.asyncDispose]: async () => {
      await pool.end();
      await server.stop();
    },
  };
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

function useGiven(url: string, display: Display): Server {
  display.stage("Using the Postgres given by --database");
  return { url, stop: async () => {} };
}

async function startEmbedded(dataDir: string, display: Display): Promise<Server> {
  display.stage(`Starting Postgres (data in ${shortPath(dataDir)}) …`);
  const startedAt = performance.now();
  const server = await startEmbeddedPostgres({ dataDir, onProgress: (message) => display.note(message) });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const data = server.kept ? "with the data of an earlier start" : "with new data";
  display.note(`ready on port ${server.port} after ${seconds} s, ${data}`);
  return server;
}

/** Relative to where the program was started, if it is below that. */
function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === "" || fromHere.startsWith("..") || isAbsolute(fromHere) ? path : fromHere;
}
