import { expect, it } from "vitest";
import { checkIndexes } from "./check-indexes.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();
const check = (schema?: string) => checkIndexes((text, values) => database.query(text, values), schema);

it("finds nothing wrong with the migrated schema", async () => {
  expect(await check()).toEqual([]);
});

it("finds a row that an index lacks", async () => {
  await database.query("create schema lacking create table t (n int primary key)");
  await database.query("insert into lacking.t values (1)");
  const ready = (is: boolean) =>
    database.query(`update pg_index set indisready = ${is} where indexrelid = 'lacking.t_pkey'::regclass`);
  await ready(false);
  await database.query("insert into lacking.t values (2)");
  await ready(true);
  expect(await check("lacking")).toEqual([
    { check: "index", message: expect.stringMatching(/^lacking\.t_pkey: .*lacks matching index tuple/) },
  ]);
});

it("finds a row that can't be there", async () => {
  await database.query("create schema broken create table t (n int)");
  await database.query("insert into broken.t values (1)");
  await database.query(
    "update pg_class set relfrozenxid = (txid_current() % (2 ^ 32)::bigint)::text::xid where oid = 'broken.t'::regclass",
  );
  expect(await check("broken")).toEqual([
    {
      check: "table",
      message: expect.stringMatching(/^broken\.t block 0: xmin \d+ precedes relation freeze threshold/),
    },
  ]);
});
