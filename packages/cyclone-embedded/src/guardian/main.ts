/**
 * The guardian: a process between a program and its server. It starts the server and then blocks on a pipe from the
 * program. When the pipe ends, because the program asked or because it died in any way, SIGKILL included, the server
 * is stopped and temporary data are removed.
 */
import { once } from "node:events";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { keptHome, temporaryHome } from "../server/server-home.ts";
import type { GuardianMessage, GuardianOrder, HeldServer } from "./guardian-messages.ts";
import { holdServer } from "./hold-server.ts";
import { releaseServer } from "./release-server.ts";

const released = new AbortController();
process.stdin.on("error", () => released.abort());
process.stdin.on("close", () => released.abort());
process.stdin.resume();
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => released.abort());
// The program may be gone: then nobody reads what is written here.
process.stdout.on("error", () => {});

process.exitCode = await guard(JSON.parse(process.argv[2] ?? "{}") as GuardianOrder);
process.exit();

async function guard(order: GuardianOrder): Promise<number> {
  let held: HeldServer | undefined;
  let failed = false;
  try {
    const home = order.dataDir === null ? temporaryHome() : keptHome(order.dataDir);
    if (home.temporary) held = { home, native: "", guardianPid: process.pid };
    const progress = (message: string) => void say({ kind: "progress", message });
    const { port, kept, native } = await holdServer(home, order, progress, released.signal);
    held = { home, native, guardianPid: process.pid };
    await say({ kind: "ready", port, kept, held });
    if (!released.signal.aborted) await once(released.signal, "abort");
  } catch (error) {
    failed = !released.signal.aborted;
    await sayFailure(error);
  }
  try {
    if (held !== undefined) await releaseServer(held);
  } catch (error) {
    failed = true;
    await sayFailure(error);
  }
  return failed ? 1 : 0;
}

function sayFailure(error: unknown): Promise<void> {
  const known = error instanceof EmbeddedPostgresError ? error : undefined;
  const message = known?.headline ?? (error instanceof Error ? (error.stack ?? error.message) : String(error));
  return say({ kind: "failed", message, log: known?.log });
}

function say(message: GuardianMessage): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(`${JSON.stringify(message)}\n`, () => resolve());
  });
}
