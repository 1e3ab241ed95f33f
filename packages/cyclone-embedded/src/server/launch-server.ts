import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { binary } from "../binaries/find-binaries.ts";
import type { Binaries } from "../binaries/usable-binaries.ts";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { freePort } from "./free-port.ts";
import { logTail } from "./log-tail.ts";
import { readPostmasterFile } from "./postmaster-file.ts";
import { giveTo, type ServerHome } from "./server-home.ts";
import { processOptions } from "./server-user.ts";

const READY_WITHIN_MS = 120_000;
const POLL_MS = 15;
const PORT_ATTEMPTS_MAX = 5;

export interface LaunchOptions {
  /** `null`: any free one. */
  readonly port: number | null;
  readonly durable: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts the server over an existing cluster and waits until it takes connections. @returns its port */
export async function launchServer(
  home: ServerHome,
  binaries: Binaries,
  options: LaunchOptions,
  signal: AbortSignal,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const child = spawnServer(home, binaries, port, options);
    const failure = await untilReady(child, home, signal);
    if (failure === undefined) return port;
    const log = logTail(home.logFile);
    // Between finding the free port and binding it somebody else may have taken it.
    const retry = options.port === null && attempt < PORT_ATTEMPTS_MAX && /could not bind/.test(log);
    if (!retry) throw new EmbeddedPostgresError(`Postgres didn't start on port ${port}: ${failure}`, log);
  }
}

function spawnServer(home: ServerHome, binaries: Binaries, port: number, options: LaunchOptions): ChildProcess {
  const settings: Record<string, string> = {
    ...(options.durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...options.settings,
    listen_addresses: "127.0.0.1",
    port: String(port),
    // No Unix socket at all: its path could clash with another server's or be too long, and TCP serves every platform.
    unix_socket_directories: "",
    log_destination: "stderr",
    logging_collector: "off",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = openSync(home.logFile, "w", 0o600);
  try {
    giveTo(home.user, home.logFile);
    return spawn(binary(binaries.native, "postgres"), ["-D", home.pgdata, ...flags], {
      ...processOptions(home.user),
      stdio: ["ignore", log, log],
    });
  } finally {
    closeSync(log);
  }
}

/** @returns why the server didn't get ready, or `undefined` once it is */
async function untilReady(child: ChildProcess, home: ServerHome, signal: AbortSignal): Promise<string | undefined> {
  let ended: string | undefined;
  child.on("error", (error) => {
    ended = error.message;
  });
  child.on("exit", (status, killedBy) => {
    ended ??= killedBy === null ? `it ended with status ${status}` : `it was ended by ${killedBy}`;
  });
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    if (ended !== undefined) return ended;
    const file = readPostmasterFile(home.pgdata);
    if (file?.pid === child.pid && file?.status === "ready") return undefined;
    if (signal.aborted || performance.now() > deadline) {
      child.kill("SIGQUIT");
      signal.throwIfAborted();
      return `it wasn't ready within ${READY_WITHIN_MS / 1000} s`;
    }
    await sleep(POLL_MS);
  }
}
