import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { freePort } from "./free-port.ts";
import { type Account, spawnGuarded } from "./guarded-process.ts";

/** A PgBouncer in transaction mode before a server. */
export interface PgBouncer extends AsyncDisposable {
  /** The target's URL by way of the pooler. */
  readonly url: string;
  /** What it has logged. */
  log(): string;
  stop(): Promise<void>;
  /** Again on the same port. */
  start(): Promise<void>;
}

/** The program's path; undefined where it isn't installed. */
export function findPgBouncer(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, "pgbouncer")).find(isExecutable);
}

const UP_WITHIN_MS = 15_000;

/** @param target a superuser's URL that needs no password */
export async function startPgBouncer(target: string, options: { readonly poolSize: number }): Promise<PgBouncer> {
  const program = findPgBouncer();
  if (program === undefined) throw new Error("PgBouncer isn't installed.");
  const url = new URL(target);
  const folder = mkdtempSync(join(tmpdir(), "cyclone-pgbouncer-"));
  chmodSync(folder, 0o777); // it doesn't run as root, and writes its log here
  const port = await freePort();
  writeFileSync(join(folder, "users"), `"${decodeURIComponent(url.username)}" ""\n`);
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    [
      "[databases]",
      `* = host=${url.hostname} port=${url.port || 5432}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${join(folder, "users")}`,
      "pool_mode = transaction",
      `default_pool_size = ${options.poolSize}`,
      "max_client_conn = 500",
      "",
    ].join("\n"),
  );
  const pooled = new URL(target);
  pooled.hostname = "127.0.0.1";
  pooled.port = String(port);
  const bouncer = new RunningPgBouncer(program, folder, pooled.href);
  await bouncer.start();
  return bouncer;
}

class RunningPgBouncer implements PgBouncer {
  readonly url: string;
  readonly #program: string;
  readonly #folder: string;
  #guard: ChildProcess | undefined;

  constructor(program: string, folder: string, url: string) {
    this.#program = program;
    this.#folder = folder;
    this.url = url;
  }

  log(): string {
    return readFileSync(join(this.#folder, "log"), "utf8");
  }

  async start(): Promise<void> {
    const command = [this.#program, join(this.#folder, "pgbouncer.ini")];
    this.#guard = spawnGuarded(command, { log: join(this.#folder, "log"), account: unprivileged(), signal: "TERM" });
    const deadline = performance.now() + UP_WITHIN_MS;
    while (!(await answers(this.url))) {
      if (performance.now() > deadline) throw new Error(`PgBouncer didn't start:\n${this.log()}`);
      await wait(10);
    }
  }

  async stop(): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined) return;
    this.#guard = undefined;
    const ended = once(guard, "exit");
    guard.stdin?.end();
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** It refuses to run as root. */
function unprivileged(): Account {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout));
  return { uid: uid ?? 65_534, gid: gid ?? 65_534 };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
