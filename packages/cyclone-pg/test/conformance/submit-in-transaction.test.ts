import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { channelOf } from "../../src/db/channel.ts";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRows } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
let tx: pg.Client;

beforeEach(async () => {
  tx = new pg.Client({ connectionString: database.url });
  await tx.connect();
  await database.query("create table if not exists orders (id text primary key)");
});
afterEach(async () => {
  await tx.end();
});

const greet = defineStep("greet", async (_ctx, name: string) => `hello ${name}`);
const pair = defineWorkflow("pair", (b, name: string) => greet.do(b, greet.do(b, name)));

const everything = async (): Promise<unknown[]> => {
  const { rows } = await database.query(
    `select 'run' as what, id::text as id from cyclone_runs union all select 'step', run_id::text from cyclone_steps
     union all select 'edge', run_id::text from cyclone_deps`,
  );
  return rows;
};

describe("a submit in the caller's transaction", () => {
  it("exists together with the caller's own write once that commits, and not before", async () => {
    const client = testClient(database);
    await tx.query("begin");
    await tx.query("insert into orders values ('a')");
    const run = await pair.submit(client, "a", { tx });
    await expect(run.state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    expect(await stepRows(database, run.id)).toEqual([]);
    await tx.query("commit");
    expect(await run.state()).toBe("running");
    expect((await stepRows(database, run.id)).map((row) => row.state)).toEqual(["available", "pending"]);
  });

  it("leaves nothing after a rollback: no run, no node, no edge, no idempotency key", async () => {
    const client = testClient(database);
    const before = await everything();
    await tx.query("begin");
    await tx.query("insert into orders values ('gone')");
    const gone = await pair.submit(client, "first", { tx, idempotencyKey: "rolled-back" });
    await tx.query("rollback");
    expect(await everything()).toEqual(before);
    await expect(gone.wait()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    // The key is free, also for another input.
    const second = await pair.submit(client, "second", { idempotencyKey: "rolled-back" });
    expect(second.existing).toBe(false);
    expect(second.id).not.toBe(gone.id);
  });

  it("is undone by a rollback to a savepoint, like any other statement", async () => {
    const client = testClient(database);
    await tx.query("begin");
    const kept = await greet.enqueue(client, "kept", { tx });
    await tx.query("savepoint s");
    const undone = await greet.enqueue(client, "undone", { tx });
    await tx.query("rollback to savepoint s");
    await tx.query("commit");
    expect(await kept.state()).toBe("running");
    await expect(undone.state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
  });

  it("wakes workers when it commits, and nobody before", async () => {
    const called = latch();
    const ping = defineStep("ping", async () => called.open());
    // Only a notification can wake this worker within the test's time.
    await testWorker(database, [ping], { pollInterval: "10m" });
    const producer = testClient(database, { pollInterval: "10m" });

    const heard: string[] = [];
    const ear = new pg.Client({ connectionString: database.url });
    await ear.connect();
    try {
      ear.on(
        "notification",
        ({ payload }) => void (payload?.startsWith("probe:") ? undefined : heard.push(payload ?? "")),
      );
      await ear.query(`listen ${channelOf("public")}`);

      await tx.query("begin");
      const job = await ping.enqueue(producer, undefined, { tx });
      // What was sent before this query is heard before its answer.
      await ear.query("select 1");
      expect(heard).toEqual([]);
      expect(called.isOpen).toBe(false);
      await tx.query("commit");
      await called.opened;
      await eventually(() => expect(heard).toContain("work"));
      await eventually(async () => expect(await job.state()).toBe("completed"));
    } finally {
      await ear.end();
    }
  });

  it("sends no notification where `notify: false` says so, and is found by the poll", async () => {
    const ping = defineStep("quiet-ping", async () => {});
    await testWorker(database, [ping], { listen: false });
    const producer = testClient(database, { notify: false });
    const seen: string[] = [];
    const spy = {
      query: (text: string, values?: unknown[]) => {
        seen.push(text);
        return tx.query(text, values);
      },
    };
    await tx.query("begin");
    const job = await ping.enqueue(producer, undefined, { tx: spy });
    await tx.query("commit");
    expect(seen.filter((text) => /notify/i.test(text))).toEqual([]);
    await job.result();
  });

  it("sends one notification of a few bytes, however many runs and whatever their size", async () => {
    const client = testClient(database);
    const sent: unknown[][] = [];
    const spy = {
      query: (text: string, values: unknown[] = []) => {
        if (/pg_notify/.test(text)) sent.push(values);
        return tx.query(text, values);
      },
    };
    await tx.query("begin");
    await greet.enqueueMany(
      client,
      Array.from({ length: 3_000 }, () => "x".repeat(1_000)),
      { tx: spy },
    );
    await tx.query("rollback");
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent).length).toBeLessThan(100);
  });

  it("gives the caller the database's own error, and tries nothing again", async () => {
    const client = testClient(database);
    await tx.query("begin");
    await expect(tx.query("select 1/0")).rejects.toMatchObject({ code: "22012" });
    await expect(greet.enqueue(client, "x", { tx })).rejects.toMatchObject({ code: "25P02" });
    await tx.query("rollback");
  });

  it("takes whatever has query(text, values)", async () => {
    const client = testClient(database);
    await tx.query("begin");
    const run = await pair.submit(client, "a", { tx: { query: (text, values) => tx.query(text, values) } });
    await tx.query("commit");
    expect((await stepRows(database, run.id)).map((row) => row.node)).toEqual(["greet", "greet-2"]);
    const nothing = {} as unknown as pg.Client;
    await expect(pair.submit(client, "a", { tx: nothing })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
  });

  it("refuses what isn't a transaction, or doesn't answer as one", async () => {
    const client = testClient(database);
    const before = await everything();
    const refused = { code: "CYCLONE_INVALID_OPTION" };
    // A Pool would run each statement on another connection, and commit each.
    await expect(pair.submit(client, "a", { tx: database.pool })).rejects.toMatchObject(refused);
    await tx.query("begin");
    const rowsAlone = { query: async (text: string, values?: unknown[]) => (await tx.query(text, values)).rows };
    await expect(pair.submit(client, "a", { tx: rowsAlone as never })).rejects.toMatchObject(refused);
    await tx.query("rollback");
    expect(await everything()).toEqual(before);
  });

  it("refuses a client of pg that has no open transaction, before anything is written", async () => {
    const client = testClient(database);
    const before = await everything();
    const refused = { code: "CYCLONE_INVALID_OPTION", option: "tx" };
    const starts = [
      () => pair.submit(client, "a", { tx }),
      () => greet.enqueue(client, "a", { tx }),
      () => pair.submitMany(client, ["a", "b"], { tx }),
      () => greet.enqueueMany(client, ["a", "b"], { tx, idempotencyKey: (name) => name }),
    ];
    for (const start of starts) await expect(start()).rejects.toMatchObject(refused);
    await tx.query("begin");
    await tx.query("commit");
    for (const start of starts) await expect(start()).rejects.toMatchObject(refused);
    const lent = await database.pool.connect();
    await expect(pair.submit(client, "a", { tx: lent })).rejects.toMatchObject(refused);
    lent.release();
    expect(await everything()).toEqual(before);
  });

  it("takes a client whose BEGIN is sent but not awaited", async () => {
    const client = testClient(database);
    await greet.enqueue(client, "first"); // from now on the client knows the installation: nothing is awaited before the statement
    const begin = tx.query("begin");
    const run = await pair.submit(client, "a", { tx });
    await begin;
    await expect(run.state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    await tx.query("commit");
    expect(await run.state()).toBe("running");
  });

  it("works in a transaction of any isolation level, begun long before", async () => {
    const client = testClient(database);
    for (const level of ["repeatable read", "serializable"]) {
      await tx.query(`begin isolation level ${level}`);
      const { rows } = await tx.query<{ now: Date }>("select now()");
      await tx.query("select pg_sleep(0.05)");
      const run = await greet.enqueue(client, level, { tx, delay: "10m" });
      await tx.query("commit");
      const [row] = await stepRows(database, run.id);
      // The delay counts from the statement, not from BEGIN.
      const delayMs = Number(row?.available_at) - Number(rows[0]?.now);
      expect(delayMs).toBeGreaterThan(600_045);
    }
  });
});
