import { setTimeout as sleep } from "node:timers/promises";
import { binary } from "../binaries/find-binaries.ts";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { isAlive } from "./is-alive.ts";
import { logTail } from "./log-tail.ts";
import { readPostmasterFile } from "./postmaster-file.ts";
import type { ServerHome } from "./server-home.ts";
import { runAs } from "./server-user.ts";

const STOP_WITHIN_SECONDS = 60;

/**
 * Stops the server of a home, whoever started it, and waits until it is gone. Kept data get a checkpoint ("fast");
 * data that are thrown away don't ("immediate"). No server is a success.
 */
export async function stopServer(home: ServerHome, native: string): Promise<void> {
  const running = readPostmasterFile(home.pgdata);
  if (running === undefined || !isAlive(running.pid)) return;
  const mode = home.temporary ? "immediate" : "fast";
  const args = ["stop", "-D", home.pgdata, "-m", mode, "-w", "-t", String(STOP_WITHIN_SECONDS)];
  const stopped = runAs(home.user, binary(native, "pg_ctl"), args);
  if (stopped.status === 0 || readPostmasterFile(home.pgdata)?.pid !== running.pid) return;

  process.kill(running.pid, "SIGKILL");
  await sleep(200);
  if (home.temporary) return;
  const reason = `${stopped.stderr}${stopped.stdout}`.trim();
  throw new EmbeddedPostgresError(`Postgres didn't stop by itself and was killed: ${reason}`, logTail(home.logFile));
}
