import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CrashProxy, type CrashSide, startCrashProxy } from "./crash-proxy.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();
let proxy: CrashProxy;
const clients: pg.Client[] = [];

beforeEach(async () => {
  await database.query("drop table if exists t");
  await database.query("create table t (n int)");
  proxy = await startCrashProxy({ target: database.url });
});

afterEach(async () => {
  await proxy.close();
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
});

async function connect(config: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: proxy.url, ...config });
  client.on("error", () => {});
  clients.push(client);
  await client.connect();
  return client;
}

async function rows(): Promise<number[]> {
  const result = await database.query<{ n: number }>("select n from t order by n");
  return result.rows.map((row) => row.n);
}

/** Whether a query is still without an answer after a moment. */
async function isSilent(query: Promise<unknown>): Promise<boolean> {
  return Promise.race([
    query.then(
      () => false,
      () => false,
    ),
    wait(150).then(() => true),
  ]);
}

describe("killing the client's process at a point", () => {
  const child = `
    const { Client } = require("pg");
    const client = new Client({ connectionString: process.argv[1] });
    client.connect()
      .then(() => client.query("begin"))
      .then(() => client.query("insert into t values (1)"))
      .then(() => client.query("commit"))
      .then(() => process.exit(0));`;

  it.each<{ side: CrashSide; k: number; committed: number[] }>([
    { side: "after", k: 2, committed: [] },
    { side: "before", k: 3, committed: [] },
    { side: "after", k: 3, committed: [1] },
  ])("$side point $k leaves $committed", async ({ side, k, committed }) => {
    let pid: number | undefined;
    const armed = proxy.arm({ point: k, side, kill: () => pid });
    const running = spawn(process.execPath, ["-e", child, proxy.url], { cwd: import.meta.dirname, stdio: "ignore" });
    pid = running.pid;
    const [code, signal] = await once(running, "exit");
    await armed.settled();
    expect([code, signal]).toEqual([null, "SIGKILL"]);
    expect(armed.fired).toBe(true);
    await proxy.quiet();
    expect(await rows()).toEqual(committed);
  });
});

describe("COPY, whose data has no Sync", () => {
  /** What `pg` sends for a COPY: by a simple query, or by an extended one with its Syncs. */
  class CopyIn {
    readonly done: Promise<void>;
    readonly #text: string;
    readonly #extended: boolean;
    #settle: { resolve: () => void; reject: (error: Error) => void } = { resolve: () => {}, reject: () => {} };

    constructor(text: string, extended: boolean) {
      this.#text = text;
      this.#extended = extended;
      this.done = new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
      });
    }

    submit(connection: pg.Connection): void {
      if (!this.#extended) return connection.query(this.#text);
      connection.parse({ text: this.#text, name: "", types: [] }, true);
      connection.bind({}, true);
      connection.execute({}, true);
      connection.sync();
    }

    handleCopyInResponse(connection: pg.Connection): void {
      const copying = connection as unknown as { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void };
      copying.sendCopyFromChunk(Buffer.from("1\n2\n"));
      copying.endCopyFrom();
      if (this.#extended) connection.sync();
    }

    handleCommandComplete(): void {}

    handleReadyForQuery(): void {
      this.#settle.resolve();
    }

    handleError(error: Error): void {
      this.#settle.reject(error);
    }
  }

  const copy = (client: pg.Client, extended: boolean): Promise<void> =>
    client.query(new CopyIn("copy t from stdin", extended) as unknown as pg.Submittable & CopyIn).done;

  it.each([{ extended: false }, { extended: true }])("passes in step (extended: $extended)", async ({ extended }) => {
    const client = await connect();
    proxy.arm();
    await copy(client, extended);
    expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    expect(proxy.points.map((point) => point.label)).toEqual(["copy t from stdin", "copy data", "select ? as one"]);
    expect(await rows()).toEqual([1, 2]);
  });

  it.each<{ extended: boolean; side: CrashSide; k: number; committed: number[] }>([
    { extended: false, side: "after", k: 1, committed: [] },
    { extended: false, side: "before", k: 2, committed: [] },
    { extended: false, side: "after", k: 2, committed: [1, 2] },
    { extended: true, side: "after", k: 1, committed: [] },
    { extended: true, side: "before", k: 2, committed: [] },
    { extended: true, side: "after", k: 2, committed: [1, 2] },
  ])("is cut $side point $k (extended: $extended) with $committed left", async ({ extended, side, k, committed }) => {
    const client = await connect();
    const armed = proxy.arm({ point: k, side });
    await expect(copy(client, extended)).rejects.toThrow();
    await armed.settled();
    expect(await rows()).toEqual(committed);
  });
});

describe("network faults", () => {
  it("delay makes answers late, in order", async () => {
    const client = await connect({ pipeline: true });
    proxy.network.delay(100);
    const began = performance.now();
    const results = await Promise.all([1, 2, 3].map((n) => client.query("select $1::int as n", [n])));
    expect(performance.now() - began).toBeGreaterThan(190);
    expect(results.map((result) => result.rows[0]?.n)).toEqual([1, 2, 3]);
  });

  it("pause loses nothing: healed, the answer comes", async () => {
    const client = await connect();
    proxy.network.pause();
    const query = client.query("insert into t values (1)");
    expect(await isSilent(query)).toBe(true);
    expect(await rows()).toEqual([]);
    proxy.network.heal();
    await query;
    expect(await rows()).toEqual([1]);
  });

  it("black hole loses what is sent, also by a new connection, without an error until it heals", async () => {
    const [client, other] = [await connect(), await connect({ application_name: "other" })];
    proxy.network.blackHole((connection) => connection.applicationName !== "other");
    const query = client.query("insert into t values (1)");
    const connecting = connect();
    connecting.catch(() => {});
    expect(await isSilent(query)).toBe(true);
    expect(await isSilent(connecting)).toBe(true);
    await other.query("insert into t values (2)");
    proxy.network.heal();
    await expect(query).rejects.toThrow();
    await expect(connecting).rejects.toThrow();
    await (await connect()).query("insert into t values (3)");
    expect(await rows()).toEqual([2, 3]);
  });

  it("reset fails what is open, and lets new connections pass", async () => {
    const client = await connect();
    const query = client.query("select pg_sleep(60)");
    query.catch(() => {});
    await wait(20);
    proxy.network.reset();
    await expect(query).rejects.toMatchObject({ code: "ECONNRESET" });
    await (await connect()).query("select 1");
  });

  it("half close toward the client ends its stream", async () => {
    const client = await connect();
    const ended = new Promise((resolve) => client.once("end", resolve));
    proxy.network.halfClose("client");
    await ended;
    await proxy.quiet();
  });

  it("half close toward the server ends the session, and with it the client's", async () => {
    const client = await connect();
    const ended = new Promise((resolve) => client.once("end", resolve));
    proxy.network.halfClose("server");
    await ended;
    await proxy.quiet();
  });

  it("half open: the server has forgotten the session, and the client hears nothing", async () => {
    const client = await connect();
    const pid = (client as unknown as { processID: number }).processID;
    await proxy.network.halfOpen();
    const query = client.query("insert into t values (1)");
    query.catch(() => {});
    expect(await isSilent(query)).toBe(true);
    expect((await database.query("select 1 from pg_stat_activity where pid = $1", [pid])).rows).toEqual([]);
    expect(await rows()).toEqual([]);
  });

  it("refuse closes new connections, and leaves the open ones", async () => {
    const client = await connect();
    proxy.network.refuse();
    await expect(connect()).rejects.toThrow();
    await client.query("select 1");
    proxy.network.heal();
    await connect();
  });

  it("a server that isn't there fails the client at once", async () => {
    const nowhere = await startCrashProxy({ target: "postgres://postgres@127.0.0.1:1/postgres" });
    const client = new pg.Client({ connectionString: nowhere.url });
    client.on("error", () => {});
    await expect(client.connect()).rejects.toThrow();
    await nowhere.close();
  });
});
