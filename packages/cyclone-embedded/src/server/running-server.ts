import { setTimeout as sleep } from "node:timers/promises";
import { answers } from "./answers.ts";
import { isAlive } from "./is-alive.ts";
import { readPostmasterFile } from "./postmaster-file.ts";
import type { ServerHome } from "./server-home.ts";

const SETTLE_WITHIN_MS = 120_000;
const POLL_MS = 50;

/**
 * The port of a server that still runs over this home from an earlier start, or `undefined`. One that is starting or
 * stopping is waited for. A `postmaster.pid` that was left behind counts for nothing: Postgres deals with it itself.
 */
export async function runningServer(home: ServerHome, signal: AbortSignal): Promise<number | undefined> {
  const deadline = performance.now() + SETTLE_WITHIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const file = readPostmasterFile(home.pgdata);
    if (file === undefined || !isAlive(file.pid)) return undefined;
    if (file.status === "ready" && (await answers(file.port))) return file.port;
    // The process id may be another program's by now; such a file never says that it is on its way.
    const moving = file.status === "stopping" || file.status === "starting";
    if (!moving || performance.now() > deadline) return undefined;
    await sleep(POLL_MS);
  }
}
