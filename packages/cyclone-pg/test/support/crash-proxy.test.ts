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
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
  await proxy.close();
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

const labels = (): string[] => proxy.points.map((point) => point.label);

/** Runs statements one after another until one fails; returns the index of the one that failed. */
async function runUntilCut(
  client: pg.Client,
  statements: readonly (string | pg.QueryConfig)[],
): Promise<number | undefined> {
  for (const [index, statement] of statements.entries()) {
    try {
      await client.query(statement);
    } catch {
      return index;
    }
  }
  return undefined;
}

describe("counting", () => {
  it("counts a simple query as one point, and several statements in it too", async () => {
    const client = await connect();
    proxy.arm();
    await client.query("insert into t values (1)");
    await client.query("insert into t values (2); insert into t values (3)");
    expect(labels()).toEqual(["insert into t values (?)", "insert into t values (?); insert into t values (?)"]);
    expect(await rows()).toEqual([1, 2, 3]);
  });

  it("takes a statement's name from its leading comment", async () => {
    const client = await connect();
    proxy.arm();
    await client.query("/* cyclone:claim_steps */\nselect $1::int", [1]);
    expect(labels()).toEqual(["claim_steps"]);
  });

  it("knows a named statement when only its Bind is sent", async () => {
    const client = await connect();
    const named = { name: "once", text: "/* cyclone:renew_leases */ select $1::int" };
    await client.query({ ...named, values: [1] });
    proxy.arm();
    await client.query({ ...named, values: [2] });
    expect(labels()).toEqual(["renew_leases"]);
  });

  it("says what a COMMIT ends", async () => {
    const client = await connect();
    proxy.arm();
    await client.query("begin");
    await client.query("/* cyclone:complete_steps */ insert into t values ($1)", [1]);
    await client.query("commit");
    await client.query("begin");
    await client.query("rollback");
    expect(labels()).toEqual(["begin", "complete_steps", "commit (complete_steps)", "begin", "rollback"]);
  });

  it("counts each statement of a client that sends them without waiting, in order", async () => {
    const client = await connect({ pipeline: true });
    proxy.arm();
    const sent = [
      client.query("begin"),
      client.query("insert into t values ($1)", [1]),
      client.query("commit"),
      client.query("select count(*)::int as n from t"),
    ];
    const results = await Promise.all(sent);
    expect(results[3]?.rows).toEqual([{ n: 1 }]);
    expect(labels()).toEqual([
      "begin",
      "insert into t values ($1)",
      "commit (insert into t values ($1))",
      "select count(*)::int as n from t",
    ]);
  });

  it("stays in step over errors, also of clients that send without waiting", async () => {
    const client = await connect();
    proxy.arm();
    await expect(client.query("select 1 / $1::int", [0])).rejects.toMatchObject({ code: "22012" });
    await expect(client.query("no such statement")).rejects.toMatchObject({ code: "42601" });
    expect((await client.query("select 1 as n")).rows).toEqual([{ n: 1 }]);
    const pipelining = await connect({ pipeline: true });
    const settled = await Promise.allSettled([
      pipelining.query("select 1 / $1::int", [0]),
      pipelining.query("select $1::int as n", [7]),
    ]);
    expect(settled.map((one) => one.status)).toEqual(["rejected", "fulfilled"]);
    expect(proxy.points).toHaveLength(5);
  });

  it("counts over all connections, and leaves out what `only` refuses", async () => {
    const [worker, poller] = [
      await connect({ application_name: "worker" }),
      await connect({ application_name: "poller" }),
    ];
    proxy.arm({
      only: (text, connection) => connection.applicationName !== "poller" && !text.includes("cyclone:renew_leases"),
    });
    await worker.query("select 1");
    await poller.query("select 2");
    await worker.query("/* cyclone:renew_leases */ select 3");
    await (await connect({ application_name: "other" })).query("select 4");
    expect(proxy.points.map((point) => [point.k, point.texts[0], point.connection.applicationName])).toEqual([
      [1, "select 1", "worker"],
      [2, "select 4", "other"],
    ]);
  });

  it("passes notifications, notices, big results and big parameters unchanged", async () => {
    const client = await connect();
    const heard = new Promise<pg.Notification>((resolve) => client.once("notification", resolve));
    await client.query("listen news");
    await database.query("notify news, 'late'");
    expect((await heard).payload).toBe("late");
    const many = await client.query("select i, repeat('x', 100) as x from generate_series(1, 50000) i");
    expect(many.rows).toHaveLength(50_000);
    const big = "y".repeat(8 * 1024 * 1024);
    expect((await client.query("select $1::text as big", [big])).rows[0]?.big === big).toBe(true);
  });

  it("carries many connections at once", async () => {
    const pool = new pg.Pool({ connectionString: proxy.url, max: 40 });
    proxy.arm();
    await Promise.all(Array.from({ length: 400 }, (_, n) => pool.query("insert into t values ($1)", [n])));
    expect(await rows()).toHaveLength(400);
    expect(proxy.points.map((point) => point.k)).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
    await pool.end();
    await proxy.quiet();
  });

  it("passes a cancel request, and declines TLS in the server's stead", async () => {
    const client = await connect();
    const slow = client.query("select pg_sleep(60)");
    slow.catch(() => {});
    const cancelling = await connect();
    await cancelling.query("select pg_cancel_backend($1)", [(client as unknown as { processID: number }).processID]);
    await expect(slow).rejects.toMatchObject({ code: "57014" });
    await expect(connect({ ssl: true })).rejects.toThrow(/does not support SSL/);
  });
});

describe("a cut", () => {
  const transaction = ["begin", "insert into t values (1)", "commit"];

  it.each<{ side: CrashSide; k: number; committed: number[] }>([
    { side: "before", k: 1, committed: [] },
    { side: "after", k: 1, committed: [] },
    { side: "before", k: 2, committed: [] },
    { side: "after", k: 2, committed: [] },
    { side: "before", k: 3, committed: [] },
    { side: "after", k: 3, committed: [1] },
  ])("$side point $k of a transaction leaves $committed on the server", async ({ side, k, committed }) => {
    const client = await connect();
    const armed = proxy.arm({ point: k, side });
    expect(await runUntilCut(client, transaction)).toBe(k - 1);
    await armed.settled();
    expect(armed.fired).toBe(true);
    expect(armed.cut?.k).toBe(k);
    expect(await rows()).toEqual(committed);
  });

  it.each<{ side: CrashSide; committed: number[] }>([
    { side: "before", committed: [] },
    { side: "after", committed: [1] },
  ])("$side a parameterised or named statement leaves $committed", async ({ side, committed }) => {
    for (const name of [undefined, "insert_one"]) {
      await database.query("truncate t");
      const client = await connect();
      const armed = proxy.arm({ point: 1, side });
      await expect(
        client.query({ ...(name === undefined ? {} : { name }), text: "insert into t values ($1)", values: [1] }),
      ).rejects.toThrow();
      await armed.settled();
      expect(await rows()).toEqual(committed);
    }
  });

  it.each<{ side: CrashSide; k: number; committed: number[]; answered: number }>([
    { side: "before", k: 2, committed: [1], answered: 1 },
    { side: "after", k: 2, committed: [1, 2], answered: 1 },
    { side: "before", k: 4, committed: [1, 2, 3], answered: 3 },
    { side: "after", k: 4, committed: [1, 2, 3, 4], answered: 3 },
  ])(
    "$side statement $k of four that are under way together leaves $committed",
    async ({ side, k, committed, answered }) => {
      const client = await connect({ pipeline: true });
      const armed = proxy.arm({ point: k, side });
      const sent = await Promise.allSettled([1, 2, 3, 4].map((n) => client.query("insert into t values ($1)", [n])));
      await armed.settled();
      expect(sent.filter((one) => one.status === "fulfilled")).toHaveLength(answered);
      expect(await rows()).toEqual(committed);
    },
  );

  it("swallows an error's answer as well", async () => {
    const client = await connect();
    const armed = proxy.arm({ point: 1, side: "after" });
    const failed = await client.query("select 1 / 0").catch((error: unknown) => error);
    await armed.settled();
    expect(failed).not.toHaveProperty("code", "22012");
  });

  it("lets new connections pass, and the locks of the cut one are gone", async () => {
    const client = await connect();
    const armed = proxy.arm({ point: 3, side: "before" });
    await runUntilCut(client, ["begin", "lock table t in access exclusive mode", "insert into t values (1)"]);
    await armed.settled();
    await (await connect()).query("set lock_timeout = 1; insert into t values (2)");
    expect(await rows()).toEqual([2]);
  });

  it("refuses new connections for a while when asked", async () => {
    const client = await connect();
    const armed = proxy.arm({ point: 1, refuseForMs: 60_000 });
    await runUntilCut(client, ["select 1"]);
    await armed.settled();
    await expect(connect()).rejects.toThrow();
    proxy.disarm();
    await (await connect()).query("select 1");
  });

  it("hits one connection, or all of them", async () => {
    for (const scope of ["connection", "all"] as const) {
      const [first, second] = [await connect(), await connect()];
      const armed = proxy.arm({ point: 1, scope });
      await runUntilCut(first, ["select 1"]);
      await armed.settled();
      expect((await Promise.allSettled([second.query("select 2")]))[0]?.status).toBe(
        scope === "all" ? "rejected" : "fulfilled",
      );
    }
  });

  it("is made even if the server goes away in place of an answer", async () => {
    const client = await connect();
    const armed = proxy.arm({ point: 1, side: "after" });
    await runUntilCut(client, ["select pg_terminate_backend(pg_backend_pid())"]);
    await armed.settled();
    expect(armed.fired).toBe(true);
  });
});

describe("a held connection", () => {
  it.each<{ side: CrashSide; seen: number[] }>([
    { side: "before", seen: [] },
    { side: "after", seen: [1] },
  ])("$side a COMMIT goes on when released", async ({ side, seen }) => {
    const client = await connect();
    const armed = proxy.arm({ point: 3, side, hold: true });
    const done = runUntilCut(client, ["begin", "insert into t values (1)", "commit", "insert into t values (2)"]);
    expect((await armed.reached).label).toBe("commit (insert into t values (?))");
    expect(await rows()).toEqual(seen);
    armed.release();
    expect(await done).toBeUndefined();
    expect(await rows()).toEqual([1, 2]);
  });
});
