import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { catalog } from "../../src/sql/catalog.ts";
import { type Tables, tablesOf } from "../../src/sql/tables.ts";
import { sourceFiles } from "../house-rules/source-files.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { literals, parameterNumbers, timesOfBegin, unboundTables } from "./statement-rules.ts";

const database = useTestDatabase();
const tables = tablesOf("public");
let client: Client;

beforeAll(async () => {
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
});

/** What may stand in quotes besides the labels of the schema's types: units, empty values, names of settings, columns and configurations. */
const WORDS = [
  "1 millisecond",
  "{}",
  "infinity",
  "-infinity",
  "[]",
  "cyclone.completion_tx",
  "node",
  "bucket_count",
  "due",
  "expired",
  "simple",
  " ",
  "stack",
  "causes",
  "name",
  "code",
  "message",
  "cyclone_steps",
  "AccessShareLock",
  "RowExclusiveLock",
];

describe.each(catalog.map((statement) => [statement.name, statement] as const))("%s", (name, statement) => {
  const text = statement.text(tables);

  it("runs with its sample", async () => {
    await client.query("begin");
    try {
      const result = await client.query(text, statement.params(statement.sample));
      expect(Array.isArray(result.rows)).toBe(true);
    } finally {
      await client.query("rollback");
    }
  });

  it("is named, once, and in the file of its name", () => {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(text).toMatch(new RegExp(`^/\\* cyclone:${name} \\*/\\n`));
    expect(catalog.filter((other) => other.name === name)).toHaveLength(1);
    const files = sourceFiles().filter(
      ({ path }) => path.startsWith("sql/") && path.endsWith(`/${name.replaceAll("_", "-")}.ts`),
    );
    expect(files.map((file) => file.text.includes(`name: "${name}"`))).toEqual([true]);
  });

  it("is one statement with one parameter per value, and each is used", () => {
    const count = statement.params(statement.sample).length;
    expect(parameterNumbers(text)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect(text).not.toContain(";");
  });

  it("has the bucket on every table that it touches", () => {
    expect(unboundTables(text)).toEqual([]);
  });

  it("takes the time from the statement, never from BEGIN", () => {
    expect(timesOfBegin(text)).toEqual([]);
  });

  it("has no value in its text", async () => {
    const { rows } = await client.query<{ label: string }>(
      "select e.enumlabel as label from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typname like 'cyclone\\_%'",
    );
    const known = new Set([...WORDS, ...rows.map((row) => row.label)]);
    expect(literals(text).filter((literal) => !known.has(literal))).toEqual([]);
  });

  it("has a constant text per schema, in which only its tables and types are spliced", () => {
    const marked = new Proxy({} as Tables, { get: (_, key) => `<${String(key)}>` });
    const spliced = new Set([...statement.text(marked).matchAll(/<(\w+)>/g)].map(([, key]) => key ?? ""));
    const allowed = Object.keys(tables).filter((key) => key !== "schema");
    expect([...spliced].filter((key) => !allowed.includes(key))).toEqual([]);
    let whole = statement.text(marked);
    for (const key of spliced) whole = whole.replaceAll(`<${key}>`, tables[key as keyof Tables]);
    expect(whole).toBe(text);
    expect(statement.text(tablesOf("public"))).toBe(text);
  });
});

describe("the rules can fail", () => {
  const { steps, runs } = tables;

  it.each([
    `select 1 from ${steps} s where s.run_id = $1`,
    `select 1 from ${steps} s where s.bucket = $10`,
    `select 1 from ${steps} s join ${runs} r on r.id = s.run_id where s.bucket = $1`,
    `with a as (select 1 from ${steps} s where s.run_id = $2) select 1 from ${runs} r where r.bucket = $1`,
    `select (select s.output from ${steps} s where s.run_id = r.id) from ${runs} r where r.bucket = $1`,
    `update ${steps} set bucket = 1`,
    `delete from ${steps} d using ${runs} r where d.bucket = $1`,
    `insert into ${steps} (bucket) select 0`,
    `with a as (insert into ${steps} (bucket) select $1), b as (insert into ${runs} (bucket) select x.b from x) select 1`,
  ])("a table without a bucket: %s", (text) => {
    expect(unboundTables(text)).toHaveLength(1);
  });

  it.each([
    `select 1 from ${steps} s where s.bucket = $1::smallint and s.run_id = $2`,
    `select (select s.output from ${steps} s where s.bucket = $1 and s.run_id = r.id) from ${runs} r where r.bucket = $1`,
    `with a as (insert into ${runs} as r (bucket, id) select $1::smallint, x.id from x on conflict do nothing) select 1`,
    `select 1 from ${tables.settings} s`,
  ])("but not: %s", (text) => {
    expect(unboundTables(text)).toEqual([]);
  });

  it("the time of BEGIN", () => {
    expect(timesOfBegin("select now(), NOW ( ), current_timestamp, statement_timestamp(), s.know()")).toHaveLength(3);
    expect(timesOfBegin("select 1 -- now()\n/* now() */")).toEqual([]);
  });

  it("parameters and literals", () => {
    expect(parameterNumbers("select $2, $10, $2 /* $3 */")).toEqual([2, 10]);
    expect(literals("select 'a', 'it''s' -- 'b'")).toEqual(["a", "it''s"]);
  });
});
