import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { migrate } from "../../src/migrations/migrate.ts";
import { freePort } from "./free-port.ts";
import { type Account, spawnGuarded } from "./guarded-process.ts";

/** How a server goes away. `kill`: kill -9 of the whole server, as by a power cut of its machine. */
export type Outage = "fast" | "immediate" | "kill";

/** A Postgres server of one test file's own, of the version that the run is about, to be stopped, started and configured. */
export interface OwnServer {
  /** Its database `postgres`, migrated; the same over restarts. */
  readonly url: string;
  /** Resolves when the server is gone. */
  stop(how: Outage): Promise<void>;
  /** Resolves when connections are taken. */
  start(): Promise<void>;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** Where the server's programs are, and who runs them: as the server does that the run is about. */
interface Programs {
  readonly bin: string;
  readonly account: Account;
}

const UP_WITHIN_MS = 30_000;

/** Creates the server before the first test, and removes it after the last. */
export function useOwnServer(settings: Readonly<Record<string, string>> = {}): OwnServer {
  let server: Server | undefined;
  const opened = (): Server => {
    if (server === undefined) throw new Error("The server exists only while the tests of its suite run.");
    return server;
  };
  beforeAll(async () => {
    server = await Server.create(settings);
    await server.start();
    await server.migrate();
  });
  afterAll(() => server?.remove());
  return {
    get url() {
      return opened().url;
    },
    stop: (how) => opened().stop(how),
    start: () => opened().start(),
    query: (text, values) => opened().query(text, values),
  };
}

class Server implements OwnServer {
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #programs: Programs;
  readonly #settings: Readonly<Record<string, string>>;
  #guard: ChildProcess | undefined;

  private constructor(folder: string, port: number, programs: Programs, settings: Readonly<Record<string, string>>) {
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    this.#folder = folder;
    this.#port = port;
    this.#programs = programs;
    this.#settings = settings;
  }

  static async create(settings: Readonly<Record<string, string>>): Promise<Server> {
    const programs = await findPrograms(inject("postgres").adminUrl);
    const { bin, account } = programs;
    const folder = mkdtempSync(join(tmpdir(), "cyclone-own-server-"));
    if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
    const args = ["-D", join(folder, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    const made = spawnSync(join(bin, "initdb"), args, { ...account, cwd: "/", encoding: "utf8" });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    return new Server(folder, await freePort(), programs, settings);
  }

  async start(): Promise<void> {
    const settings = {
      fsync: "off",
      listen_addresses: "127.0.0.1",
      port: String(this.#port),
      unix_socket_directories: "",
      ...this.#settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const { bin, account } = this.#programs;
    const command = [join(bin, "postgres"), "-D", join(this.#folder, "data"), ...flags];
    this.#guard = spawnGuarded(command, { log: join(this.#folder, "log"), account, signal: "QUIT" });
    const deadline = performance.now() + UP_WITHIN_MS;
    while (!(await this.#answers())) {
      if (performance.now() > deadline || this.#guard.exitCode !== null)
        throw new Error(`The server didn't start:\n${readFileSync(join(this.#folder, "log"), "utf8").slice(-4_000)}`);
      await wait(10);
    }
  }

  async stop(how: Outage): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined) return;
    this.#guard = undefined;
    const ended = once(guard, "exit");
    for (const [pid, signal] of await this.#targets(how)) tryToKill(pid, signal);
    await ended;
    guard.stdin?.end();
  }

  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url, application_name: "cyclone-test" });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async migrate(): Promise<void> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    await migrate(client, { schema: "public", bucketCount: inject("postgres").bucketCount });
    await client.end();
  }

  async remove(): Promise<void> {
    await this.stop("kill");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #targets(how: Outage): Promise<readonly (readonly [number, NodeJS.Signals])[]> {
    const postmaster = Number(readFileSync(join(this.#folder, "data/postmaster.pid"), "utf8").split("\n")[0]);
    if (how !== "kill") return [[postmaster, how === "fast" ? "SIGINT" : "SIGQUIT"]];
    const others = await this.query("select pid from pg_stat_activity where pid <> pg_backend_pid()");
    return [postmaster, ...others.map((row) => Number(row["pid"]))].map((pid) => [pid, "SIGKILL"]);
  }

  async #answers(): Promise<boolean> {
    try {
      await this.query("select 1");
      return true;
    } catch {
      return false;
    }
  }
}

async function findPrograms(adminUrl: string): Promise<Programs> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    const { rows } = await admin.query(
      "select current_setting('data_directory') as data, (select setting from pg_config where name = 'BINDIR') as bin",
    );
    const { data, bin } = rows[0];
    const { uid, gid } = statSync(data);
    return { bin, account: process.getuid?.() === 0 ? { uid, gid } : {} };
  } catch (error) {
    throw new Error(
      "These tests start servers by the programs of the server under test, so it must be on this machine.",
      {
        cause: error,
      },
    );
  } finally {
    await admin.end();
  }
}

function tryToKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
