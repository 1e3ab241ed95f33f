import { beforeAll, expect, it } from "vitest";
import { defineStep, defineWorkflow, type Queryable } from "../../../src/index.ts";
import { stepRows } from "../../support/engine-rows.ts";
import { testClient } from "../../support/test-client.ts";
import type { TestDatabase } from "../../support/test-database.ts";
import type { Library } from "./library.ts";

const greet = defineStep("greet", async (_ctx, name: string) => `hello ${name}`);
const pair = defineWorkflow("pair", (b, name: string) => greet.do(b, greet.do(b, name)));

class Undone extends Error {}

/** What each library's transaction must do as the option `tx`. */
export function describeSubmit(
  database: TestDatabase,
  orders: { readonly ids: () => Promise<string[]> },
  library: () => Library,
): void {
  it("exists together with the library's own write once that commits, and not before", async () => {
    const client = testClient(database);
    const run = await library().transaction(async (open) => {
      await open.insertOrder("a");
      const started = await pair.submit(client, "a", { tx: open.tx, tags: ["x", 'y"'] });
      expect(await stepRows(database, started.id)).toEqual([]);
      return started;
    });
    expect(await orders.ids()).toEqual(["a"]);
    expect((await stepRows(database, run.id)).map((row) => row.state)).toEqual(["available", "pending"]);
  });

  it("leaves nothing after a rollback, the idempotency key neither", async () => {
    const client = testClient(database);
    const ids: string[] = [];
    const undone = library().transaction(async (open) => {
      await open.insertOrder("a");
      ids.push((await pair.submit(client, "a", { tx: open.tx, idempotencyKey: "gone" })).id);
      throw new Undone();
    });
    await expect(undone).rejects.toThrow(Undone);
    expect(await orders.ids()).toEqual([]);
    await expect(client.run(ids[0] ?? "").state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    expect(await pair.submit(client, "another", { idempotencyKey: "gone" })).toMatchObject({ existing: false });
  });

  it("is undone with a nested transaction, while what is around it stays", async () => {
    const client = testClient(database);
    const { kept, undone, inner } = await library().transaction(async (open) => {
      const keptRun = await greet.enqueue(client, "kept", { tx: open.tx });
      let undoneId = "";
      const nested = open.nested(async (within) => {
        await within.insertOrder("undone");
        undoneId = (await greet.enqueue(client, "undone", { tx: within.tx })).id;
        throw new Undone();
      });
      await expect(nested).rejects.toThrow(Undone);
      const innerRun = await open.nested(async (within) => {
        await within.insertOrder("inner");
        return greet.enqueue(client, "inner", { tx: within.tx });
      });
      return { kept: keptRun, undone: undoneId, inner: innerRun };
    });
    expect(await orders.ids()).toEqual(["inner"]);
    expect([await kept.state(), await inner.state()]).toEqual(["running", "running"]);
    await expect(client.run(undone).state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
  });

  it("takes many starts with keys, and finds those that exist", async () => {
    const client = testClient(database);
    const start = (names: string[]) =>
      library().transaction((open) =>
        greet.enqueueMany(client, names, { tx: open.tx, idempotencyKey: (name) => `key "${name}" \\ {,}` }),
      );
    const first = await start(["a", "b", "a"]);
    expect(new Set(first.map((run) => run.id)).size).toBe(2);
    const second = await start(["b", "c"]);
    expect(second.map((run) => run.existing)).toEqual([true, false]);
    expect(second[0]?.id).toBe(first[1]?.id);
    const reused = library().transaction((open) =>
      greet.enqueue(client, "other", { tx: open.tx, idempotencyKey: 'key "a" \\ {,}' }),
    );
    await expect(reused).rejects.toMatchObject({ code: "CYCLONE_IDEMPOTENCY_KEY_REUSED" });
  });

  it("carries inputs of any kind and size as they are", async () => {
    const client = testClient(database);
    const echo = defineStep("echo", (_ctx, _input: unknown) => {});
    const inputs = [
      "text",
      '"',
      "null",
      null,
      [],
      [[1, null]],
      { a: { "b\\": "?$1:x" } },
      1.5,
      true,
      "é😀".repeat(100_000),
    ];
    const runs = await library().transaction((open) => echo.enqueueMany(client, inputs, { tx: open.tx }));
    const stored = await Promise.all(runs.map((run) => run.node("echo").input()));
    expect(stored).toEqual(inputs);
  });

  it("can use its transaction with parameters of each type", async () => {
    const uuids = ["01890000-0000-7000-8000-000000000000", "01890000-0000-7000-8000-000000000001"];
    const texts = ["", 'q"u', "back\\slash", "com,ma", "{}", "null", null];
    const values = ['{"a": ["\\"", null]}', uuids, [1, -2], texts, null, 2.5, 7, true, "2030-01-01T00:00:00.000Z"];
    const { rows } = await library().transaction((open) => open.tx.query(eachType, values));
    expect(JSON.parse((rows[0] as { row: string }).row)).toEqual({
      j: { a: ['"', null] },
      u: uuids,
      i: [1, -2],
      t: texts,
      n: null,
      f: 2.5,
      s: 7,
      b: true,
      at: 1_893_456_000,
    });
  });

  describeErrors(database, library);
}

const eachType = `
  select row_to_json(x)::text as row
  from (select $1::jsonb as j, $2::uuid[] as u, $3::int[] as i, $4::text[] as t, $5::text as n, $6::float8 as f,
    $7::smallint as s, $8::boolean as b, extract(epoch from $9::timestamptz)::int as at) x`;

function describeErrors(database: TestDatabase, library: () => Library): void {
  beforeAll(async () => {
    await database.query("create unique index on cyclone_runs ((tags[1])) where tags[1] like 'unique %'");
  });

  it("gives the caller a unique violation as the library has it, and the transaction is lost", async () => {
    const client = testClient(database);
    await greet.enqueue(client, "a", { tags: ["unique a"] });
    const violating = library().transaction(async (open) => {
      await open.insertOrder("lost");
      await greet.enqueue(client, "a", { tx: open.tx, tags: ["unique a"] });
    });
    await expect(violating).rejects.toMatchObject(library().error("23505"));
    expect((await database.query("select 1 from orders")).rows).toEqual([]);
  });

  it("gives the caller a serialization failure as the library has it, and tries nothing again", async () => {
    const client = testClient(database);
    const sent: string[] = [];
    const failing = library().transaction(async (open) => {
      await open.insertOrder("a"); // takes the snapshot
      await greet.enqueue(client, "a", { idempotencyKey: "raced" });
      const spy: Queryable = {
        query: (text, values) => {
          sent.push(text);
          return open.tx.query(text, values);
        },
      };
      await greet.enqueue(client, "a", { tx: spy, idempotencyKey: "raced" });
    }, "repeatable read");
    await expect(failing).rejects.toMatchObject(library().error("40001"));
    expect(sent).toHaveLength(1);
  });
}
