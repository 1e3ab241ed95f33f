import { cpus } from "node:os";
import pg from "pg";

/**
 * What the figures were measured on, in one line.
 * @param {string} url
 */
export async function describeMachine(url) {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(
    "select current_setting('server_version') as version, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('shared_buffers') as buffers",
  );
  await client.end();
  const [row] = rows;
  return `Node.js ${process.versions.node}, Postgres ${row.version} (fsync ${row.fsync}, synchronous_commit ${row.commit}, shared_buffers ${row.buffers}), ${cpus().length} cores shared by client, worker and server (${cpus()[0]?.model.trim() ?? "unknown"})`;
}
