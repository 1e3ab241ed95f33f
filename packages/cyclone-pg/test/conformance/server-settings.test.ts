import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const effect = defineStep("effect", async (ctx, n: number) => {
  await (await ctx.completionTx()).query("insert into effects values ($1)", [ctx.runId]);
  return n + 1;
});
const chain = defineWorkflow("chain", (b, n: number) => add.do(b, effect.do(b, add.do(b, n))));

/** Changes a default of the database, for the sessions to come; undone after the test. */
async function set(name: string, value: string): Promise<void> {
  await database.query(`alter database ${database.name} set ${name} to ${value}`);
}
/** Ends the engine's sessions, as a failover does. */
async function cutAll(): Promise<void> {
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name like 'cyclone%' and application_name <> 'cyclone-test'`,
  );
}
afterEach(async () => {
  await database.query(`alter database ${database.name} reset all`);
});

/** Every path once: start, submit, keys, many, wait, read, completionTx, failure, retry. */
async function expectEverythingWorks(options: object = {}): Promise<void> {
  await database.query("create table if not exists effects (run_id uuid)");
  const flaky = defineStep("flaky", { backoff: 1 }, async (ctx) => {
    if (ctx.attempt === 1) throw new Error("again");
    return ctx.attempt;
  });
  const client = testClient(database, { handlers: [add, effect, flaky], ...options });
  await client.start();
  const runs = await chain.submitMany(
    client,
    Array.from({ length: 30 }, (_, n) => n),
  );
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map((_, n) => n + 3));
  expect(await (await flaky.enqueue(client)).result()).toBe(2);
  const key = { idempotencyKey: `k-${Math.random()}` };
  const twins = await Promise.all(Array.from({ length: 10 }, () => add.enqueue(client, 1, key)));
  expect(new Set(twins.map((twin) => twin.id)).size).toBe(1);
  expect(twins.filter((twin) => !twin.existing)).toHaveLength(1);
  const [run] = runs;
  expect(await run?.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
  const finishedAt = Number((await run?.wait())?.finishedAt);
  expect(Math.abs(finishedAt - Date.now())).toBeLessThan(60_000);
  expect((await run?.nodes())?.map((node) => [node.state, node.attempt, node.reclaims])).toEqual([
    ["completed", 1, 0],
    ["completed", 1, 0],
    ["completed", 1, 0],
  ]);
  const at = new Date("2032-02-29T12:34:56.789Z");
  const later = await add.enqueue(client, 1, { startAt: at });
  expect((await stepRow(database, later.id)).available_at).toEqual(at);
  await client.stop();
}

describe("a database whose default isolation is stricter", () => {
  it("changes nothing: the engine asks for READ COMMITTED itself", async () => {
    await set("default_transaction_isolation", "serializable");
    await expectEverythingWorks();
    await set("default_transaction_isolation", "'repeatable read'");
    await expectEverythingWorks();
  });

  it("doesn't make concurrent completions of one run fail with serialization errors", async () => {
    await set("default_transaction_isolation", "serializable");
    const client = await testWorker(database, [add], { concurrency: 30 });
    const other = await testWorker(database, [add], { concurrency: 30 });
    const trouble = [eventsOf(client, "error"), eventsOf(other, "error")];
    const wide = defineWorkflow("wide", (b) => {
      add.do(b, 0, { after: Array.from({ length: 200 }, (_, n) => add.do(b, n)) });
    });
    await (await wide.submit(client)).result();
    expect(trouble).toEqual([[], []]);
  });
});

describe("a database that is read-only for a while", () => {
  it("is waited for: work goes on when it can be written again, and nothing is lost or doubled", async () => {
    const gate = latch();
    let calls = 0;
    const held = defineStep("held", async () => {
      calls += 1;
      await gate.opened;
      return "recorded in the end";
    });
    const client = await testWorker(database, [held, add], { leaseTtl: "20s" });
    const job = await held.enqueue(client);
    await eventually(() => expect(calls).toBe(1));
    await set("default_transaction_read_only", "on");
    await cutAll();
    gate.open(); // its completion is refused for now
    await expect(add.enqueue(client, 1)).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      cause: { code: "25006" },
    });
    expect((await stepRow(database, job.id)).state).toBe("running");
    await database.query(`alter database ${database.name} reset default_transaction_read_only`);
    expect(await job.result()).toBe("recorded in the end");
    expect(await (await add.enqueue(client, 1)).result()).toBe(2);
    expect(calls).toBe(1);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0 });
  });
});

describe("a server that ends idle sessions", () => {
  it("after two seconds (idle_session_timeout) disturbs neither worker nor producer nor waiter", {
    timeout: 30_000,
  }, async () => {
    await set("idle_session_timeout", "'1s'");
    const client = await testWorker(database, [add], { pollInterval: "10m" });
    const producer = testClient(database, { pollInterval: "500ms" });
    expect(await (await add.enqueue(producer, 1)).result()).toBe(2);
    for (let round = 0; round < 2; round++) {
      await eventually(async () => {
        const { rows } = await database.query(
          "select 1 from pg_stat_activity where datname = current_database() and application_name = 'cyclone record'",
        );
        expect(rows).toEqual([]);
      });
      expect(await (await add.enqueue(client, round)).result()).toBe(round + 1);
      expect(await (await add.enqueue(producer, round)).result()).toBe(round + 1);
    }
  });
});

describe("settings of the session that change how values look", () => {
  it("(DateStyle, TimeZone, IntervalStyle, extra_float_digits) change nothing", async () => {
    await set("datestyle", "'German, DMY'");
    await set("timezone", "'Asia/Kolkata'");
    await set("intervalstyle", "'iso_8601'");
    await set("extra_float_digits", "0");
    await expectEverythingWorks();
  });

  it("(search_path, statement defaults) change nothing", async () => {
    await set("search_path", "pg_catalog");
    await set("default_transaction_deferrable", "on");
    await set("synchronous_commit", "off");
    await set("row_security", "on");
    await database.query("create schema if not exists decoy");
    await database.query("create table if not exists decoy.effects (run_id uuid)");
    await set("search_path", "public, decoy");
    await expectEverythingWorks();
  });
});

describe("an application that changed pg's type parsers", () => {
  it("changes nothing that the engine reads, in a caller's transaction neither", async () => {
    const { builtins } = pg.types;
    const changed = [
      builtins.BOOL,
      builtins.INT8,
      builtins.INT4,
      builtins.INT2,
      builtins.JSON,
      builtins.JSONB,
      builtins.TIMESTAMPTZ,
      builtins.UUID,
      builtins.FLOAT8,
    ] as const;
    const before = new Map(changed.map((type) => [type, pg.types.getTypeParser(type)]));
    for (const type of changed) pg.types.setTypeParser(type, (text: string) => ({ parsedByTheApplication: text }));
    const tx = new pg.Client({ connectionString: database.url });
    try {
      await tx.connect();
      const client = await testWorker(database, [add]);
      const job = await add.enqueue(client, 1, { idempotencyKey: "parsers" });
      expect(await job.result()).toBe(2);
      expect(await job.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
      expect(await job.nodes()).toEqual([expect.objectContaining({ attempt: 1, reclaims: 0, state: "completed" })]);
      await tx.query("begin");
      const again = await add.enqueue(client, 1, { tx, idempotencyKey: "parsers" });
      expect(again).toMatchObject({ id: job.id, existing: true });
      await expect(add.enqueue(client, 2, { tx, idempotencyKey: "parsers" })).rejects.toMatchObject({
        code: "CYCLONE_IDEMPOTENCY_KEY_REUSED",
      });
      const fresh = await add.enqueue(client, 5, { tx, idempotencyKey: "parsers, fresh" });
      expect(fresh.existing).toBe(false);
      await tx.query("commit");
      expect(await fresh.result()).toBe(6);
    } finally {
      for (const [type, parser] of before) pg.types.setTypeParser(type, parser as (text: string) => unknown);
      await tx.end();
    }
  });
});
