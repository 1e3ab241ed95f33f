import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRows } from "../support/engine-rows.ts";
import { openStage } from "../support/stage.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
let tx: pg.Client;

beforeEach(async () => {
  tx = new pg.Client({ connectionString: database.url });
  await tx.connect();
});
afterEach(async () => {
  await tx.end();
});

const greet = defineStep("greet", async (_ctx, who: { name: string; at?: number[] }) => `hello ${who.name}`);
const pair = defineWorkflow("pair", (b, who: { name: string }) => {
  greet.do(b, who);
  greet.do(b, who);
});

const runsWithKey = async (key: string): Promise<{ id: string; nodes: number }[]> => {
  const { rows } = await database.query<{ id: string; nodes: number }>(
    `select r.id, (select count(*)::int from cyclone_steps s where s.run_id = r.id) as nodes
     from cyclone_runs r where r.idempotency_key = $1`,
    [key],
  );
  return rows;
};

describe("a second start with the same idempotency key", () => {
  it("gives the first run, and adds nothing", async () => {
    const client = testClient(database);
    const first = await pair.submit(client, { name: "a" }, { idempotencyKey: "again" });
    const second = await pair.submit(client, { name: "a" }, { idempotencyKey: "again", tags: ["other"], delay: "1h" });
    expect(first.existing).toBe(false);
    expect(second).toMatchObject({ id: first.id, existing: true });
    expect(await runsWithKey("again")).toEqual([{ id: first.id, nodes: 2 }]);
    expect((await stepRows(database, first.id)).map((row) => row.state)).toEqual(["available", "available"]);
  });

  it("gives the run in whatever state it is, and its result", async () => {
    const client = await testWorker(database, [greet]);
    const first = await greet.enqueue(client, { name: "done" }, { idempotencyKey: "ended" });
    await first.result();
    const second = await greet.enqueue(client, { name: "done" }, { idempotencyKey: "ended" });
    expect(second).toMatchObject({ id: first.id, existing: true });
    expect(await second.output()).toBe("hello done");
  });

  it("throws if the input is another one, and leaves the first run as it is", async () => {
    const client = testClient(database);
    const first = await pair.submit(client, { name: "a" }, { idempotencyKey: "other-input" });
    const second = pair.submit(client, { name: "b" }, { idempotencyKey: "other-input" });
    await expect(second).rejects.toMatchObject({ code: "CYCLONE_IDEMPOTENCY_KEY_REUSED", runId: first.id });
    const job = await greet.enqueue(client, { name: "a" }, { idempotencyKey: "other-input" });
    const other = greet.enqueue(client, { name: "b" }, { idempotencyKey: "other-input" });
    await expect(other).rejects.toMatchObject({ code: "CYCLONE_IDEMPOTENCY_KEY_REUSED", runId: job.id });
    expect(await runsWithKey("other-input")).toHaveLength(2);
  });

  it("compares inputs as JSON values: the order of properties and undefined ones don't matter, that of lists does", async () => {
    const client = testClient(database);
    const key = { idempotencyKey: "as-json" };
    const first = await greet.enqueue(client, { name: "a", at: [1, 2] }, key);
    expect(await greet.enqueue(client, { at: [1, 2], name: "a" }, key)).toMatchObject({ id: first.id, existing: true });
    await expect(greet.enqueue(client, { name: "a", at: [2, 1] }, key)).rejects.toMatchObject({
      code: "CYCLONE_IDEMPOTENCY_KEY_REUSED",
    });
    const none = defineStep("no-input", async () => {});
    const nothing = await none.enqueue(client, undefined, { idempotencyKey: "nothing" });
    expect(await none.enqueue(client, undefined, { idempotencyKey: "nothing" })).toMatchObject({
      id: nothing.id,
      existing: true,
    });
  });

  it("is another run's key under another name or kind", async () => {
    const client = testClient(database);
    const key = { idempotencyKey: "scoped" };
    const sameNames = [
      defineStep("thing", async (_ctx, _name: string) => {}),
      defineStep("other-thing", async (_ctx, _name: string) => {}),
      defineAction("thing", async (_ctx, _name: string) => {}),
    ];
    const workflow = defineWorkflow("thing", (b, name: string) => greet.do(b, { name }));
    const runs = [
      ...(await Promise.all(sameNames.map((job) => job.enqueue(client, "a", key)))),
      await workflow.submit(client, "a", key),
    ];
    expect(runs.map((run) => run.existing)).toEqual([false, false, false, false]);
    expect(new Set(runs.map((run) => run.id)).size).toBe(4);
  });

  it("is compared byte by byte", async () => {
    const client = testClient(database);
    const keys = ["k", "K", "k ", "k\n", "é", "é".normalize("NFD"), "'; drop table cyclone_runs; --", "$1", "%s", "\\"];
    const runs = await Promise.all(
      keys.map((idempotencyKey) => greet.enqueue(client, { name: "a" }, { idempotencyKey })),
    );
    expect(runs.map((run) => run.existing)).toEqual(keys.map(() => false));
    const again = await Promise.all(
      keys.map((idempotencyKey) => greet.enqueue(client, { name: "a" }, { idempotencyKey })),
    );
    expect(again.map((run) => run.id)).toEqual(runs.map((run) => run.id));
  });

  it("of 100 at the same time from five clients makes one run, which runs once", async () => {
    const calls: string[] = [];
    const once = defineStep("once", async (ctx, input: number) => {
      calls.push(ctx.runId);
      return input;
    });
    const clients = Array.from({ length: 5 }, () => testClient(database, { maxConnections: 6 }));
    await testWorker(database, [once]);
    const runs = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        once.enqueue(clients[i % 5] ?? clients[0]!, 7, { idempotencyKey: "crowd" }),
      ),
    );
    expect(new Set(runs.map((run) => run.id)).size).toBe(1);
    expect(runs.filter((run) => !run.existing)).toHaveLength(1);
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(() => 7));
    expect(calls).toEqual([runs[0]?.id]);
    expect(await runsWithKey("crowd")).toHaveLength(1);
  });
});

describe("a start whose key an uncommitted transaction holds", () => {
  it("waits, and gives that run if the transaction commits", async () => {
    const client = testClient(database);
    await using stage = await openStage(database.url, []);
    await tx.query("begin");
    const twin = await greet.enqueue(client, { name: "a" }, { tx, idempotencyKey: "twin" });
    const second = greet.enqueue(client, { name: "a" }, { idempotencyKey: "twin" });
    await stage.waitForLock({ statement: "submit_keyed_runs" });
    await tx.query("commit");
    expect(await second).toMatchObject({ id: twin.id, existing: true });
  });

  it("waits, and makes a run of its own if the transaction rolls back", async () => {
    const client = testClient(database);
    await using stage = await openStage(database.url, []);
    await tx.query("begin");
    const twin = await greet.enqueue(client, { name: "a" }, { tx, idempotencyKey: "undone-twin" });
    const second = greet.enqueue(client, { name: "b" }, { idempotencyKey: "undone-twin" });
    await stage.waitForLock({ statement: "submit_keyed_runs" });
    await tx.query("rollback");
    const run = await second;
    expect(run.existing).toBe(false);
    expect(run.id).not.toBe(twin.id);
    expect(await runsWithKey("undone-twin")).toEqual([{ id: run.id, nodes: 1 }]);
  });

  it("finds the run that its own transaction made", async () => {
    const client = testClient(database);
    await tx.query("begin");
    const first = await pair.submit(client, { name: "a" }, { tx, idempotencyKey: "same-tx" });
    const second = await pair.submit(client, { name: "a" }, { tx, idempotencyKey: "same-tx" });
    await tx.query("commit");
    expect(second).toMatchObject({ id: first.id, existing: true });
  });
});

describe("an idempotency key", () => {
  it("spreads runs over all buckets, as ids without a key do", async () => {
    const client = testClient(database);
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, i) => greet.enqueue(client, { name: "a" }, { idempotencyKey: `spread-${i}` })),
    );
    const { rows } = await database.query<{ bucket: number }>(
      "select distinct bucket from cyclone_runs where id = any ($1::uuid[])",
      [runs.map((run) => run.id)],
    );
    expect(rows).toHaveLength(inject("postgres").bucketCount);
  });

  it("of nothing, of U+0000, of a lone surrogate or of 256 characters is refused before anything is sent", async () => {
    const client = testClient(database);
    for (const idempotencyKey of ["", "a\0b", "\ud800", "k".repeat(256)]) {
      await expect(greet.enqueue(client, { name: "a" }, { idempotencyKey })).rejects.toMatchObject({
        code: "CYCLONE_INVALID_OPTION",
      });
    }
    const longest = "😀".repeat(255);
    expect(await greet.enqueue(client, { name: "a" }, { idempotencyKey: longest })).toMatchObject({ existing: false });
    expect(await greet.enqueue(client, { name: "a" }, { idempotencyKey: longest })).toMatchObject({ existing: true });
  });
});
