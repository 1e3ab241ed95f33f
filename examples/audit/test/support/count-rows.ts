import { startEmbeddedPostgres } from "cyclone-embedded";
import pg from "pg";

/** What a data folder's database has of each run: how many rows, and of how many packages. */
export async function countRows(dataDir: string): Promise<{ runId: string; rows: number; paths: number }[]> {
  await using server = await startEmbeddedPostgres({ dataDir });
  const database = new pg.Client(server.url);
  await database.connect();
  try {
    const { rows } = await database.query(
      `select run_id as "runId", count(*)::int as rows, count(distinct path)::int as paths
       from audit_packages group by run_id order by min(ctid)`,
    );
    return rows;
  } finally {
    await database.end();
  }
}
