import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqlLiteral } from "./plan-gate/sql-literal.ts";
import {
  absentStatistics,
  explainStatement,
  freshStatistics,
  type PlanMode,
  planProblems,
  preparePlan,
  staleStatistics,
} from "./plan-gate.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();
const query = (text: string, values?: unknown[]) => database.query(text, values);
let client: Client;

const fill = (rows: number) => query(`insert into items select n, n % 10, 'x' from generate_series(1, ${rows}) n`);
const lookUp = { text: "select * from items where id = any ($1::int[])", values: [[1, 2, 3]] };
const update = { text: "update items set note = $2::text where id = $1::int", values: [7, "quoted ' and \\"] };

beforeAll(async () => {
  await query("create table items (id int primary key, kind int not null, note text)");
  await query("create index items_kind on items (kind) where note = 'open'");
  await fill(10_000);
  await freshStatistics(query, ["items"]);
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
});

describe("explainStatement", () => {
  it.each<PlanMode>(["one-shot", "custom", "generic"])("measures a look-up (%s)", async (mode) => {
    const figures = await explainStatement(client, mode, lookUp);
    expect(figures).toMatchObject({
      mode,
      rows: 3,
      seqScans: [],
      sorts: [],
      indexes: ["items_pkey"],
      wal: { bytes: 0 },
    });
    expect(figures.rowsReadTotal).toBe(3);
    expect(figures.buffers.total).toBeGreaterThanOrEqual(3);
    expect(figures.buffers.total).toBeLessThan(20);
    expect(figures.buffers.read).toBe(0);
    expect(figures.executionMs).toBeGreaterThan(0);
  });

  it.each<PlanMode>(["one-shot", "custom", "generic"])("measures a write, and rolls it back (%s)", async (mode) => {
    const figures = await explainStatement(client, mode, update);
    expect(figures.wal.records).toBeGreaterThan(0);
    expect(figures.wal.bytes).toBeGreaterThan(50);
    expect(figures.wal.fullPageImages).toBe(0);
    expect((await query("select note from items where id = 7")).rows).toEqual([{ note: "x" }]);
  });

  it("tells custom and generic plans apart", async () => {
    const partial = { text: "select * from items where kind = 1 and note = $1::text", values: ["open"] };
    expect((await explainStatement(client, "custom", partial)).indexes).toEqual(["items_kind"]);
    expect((await explainStatement(client, "generic", partial)).seqScans).toEqual([{ table: "items", rows: 10_000 }]);
  });

  it("sees sequential scans, sorts and rows that a filter throws away", async () => {
    const sorted = { text: "select * from items where kind = $1::int order by note, id", values: [3] };
    const figures = await explainStatement(client, "one-shot", sorted);
    expect(figures.seqScans).toEqual([{ table: "items", rows: 10_000 }]);
    expect(figures.sorts).toEqual([{ key: "note,id", rows: 1_000, onDisk: false }]);
    expect(figures.rowsRead).toEqual({ "Seq Scan": 10_000 });
  });

  it("counts what a nested loop compares in vain, though it costs no buffers", async () => {
    const text = `with a as materialized (select n from generate_series(1, $1::int) n), b as materialized (select n from generate_series(1, $1::int) n)
      select count(*) from a join b on a.n + b.n = 0`;
    await client.query("set enable_hashjoin = off; set enable_mergejoin = off");
    const figures = await explainStatement(client, "one-shot", { text, values: [300] });
    await client.query("reset enable_hashjoin; reset enable_mergejoin");
    expect(figures.buffers.total).toBe(0);
    expect(figures.rowsRead["Nested Loop"]).toBe(90_000);
  });

  it("counts a data-modifying CTE once, whether it is read or not", async () => {
    const change = "update items set note = 'y' where id = any ($1::int[]) returning id";
    const values = [Array.from({ length: 200 }, (_, n) => n + 1)];
    const plain = await explainStatement(client, "one-shot", { text: change, values });
    for (const rest of [
      "select 1",
      "select count(*) from done",
      "select (select count(*) from done), (select max(id) from done)",
    ]) {
      const figures = await explainStatement(client, "one-shot", { text: `with done as (${change}) ${rest}`, values });
      // What is rolled back leaves dead rows, so runs differ by some per cent; counted twice, or not at all, they would by 100.
      for (const ratio of [figures.wal.records / plain.wal.records, figures.buffers.total / plain.buffers.total]) {
        expect(ratio).toBeGreaterThan(0.75);
        expect(ratio).toBeLessThan(1.25);
      }
    }
  });

  it.each([
    { cast: "text[]", value: ['a"b', "c\\d", "e'f", "", null, "NULL", "{}", "a,b"] },
    {
      cast: "int[]",
      value: [
        [1, 2],
        [3, 4],
      ],
    },
    { cast: "int[]", value: [] },
    { cast: "timestamptz", value: new Date("2024-02-29T12:34:56.789Z") },
    { cast: "jsonb", value: { deep: ["it's", null] } },
    { cast: "jsonb[]", value: ['{"a": "b\\"c"}', null] },
    { cast: "bytea", value: Buffer.from([0, 39, 92, 255]) },
    { cast: "text", value: null },
    { cast: "boolean", value: true },
    { cast: "bigint", value: 9_007_199_254_740_993n },
  ])("gives a prepared statement the value that the driver would: $cast", async ({ cast, value }) => {
    const text = `select ${sqlLiteral(value)}::${cast} is not distinct from $1::${cast} as same`;
    expect((await query(text, [value])).rows).toEqual([{ same: true }]);
  });
});

describe("statistics", () => {
  const estimate = async (): Promise<number> => {
    const { plan } = await explainStatement(client, "one-shot", {
      text: "select * from items where kind = $1::int",
      values: [3],
    });
    return plan.Plan["Plan Rows"] as number;
  };

  it("are fresh, absent, or from the worst moment", async () => {
    await freshStatistics(query, ["items"]);
    expect(await estimate()).toBeCloseTo(1_000, -2);
    await absentStatistics(query, ["items"]);
    expect(await estimate()).toBeLessThan(200);
    await staleStatistics(query, ["items"], { worst: () => query("truncate items"), load: () => fill(10_000) });
    expect(await estimate()).toBeLessThan(200);
    await freshStatistics(query, ["items"]);
    expect(await estimate()).toBeCloseTo(1_000, -2);
  });

  it("of an empty table stay with a generic plan that was made then", async () => {
    const joined = {
      text: "select count(*) from unnest($1::int[]) x(id) join items i on i.kind = x.id",
      values: [[1]],
    };
    let early: Awaited<ReturnType<typeof preparePlan>> | undefined;
    await staleStatistics(query, ["items"], {
      worst: () => query("truncate items"),
      load: async () => {
        early = await preparePlan(client, "generic", joined);
        await fill(10_000);
      },
    });
    const kinds = [Array.from({ length: 50 }, (_, n) => n)];
    const late = await early?.explain(kinds);
    await early?.deallocate();
    await freshStatistics(query, ["items"]);
    const now = await explainStatement(client, "generic", { ...joined, values: kinds });
    expect(late?.rows).toBe(1);
    expect(late?.plan.Plan).not.toEqual(now.plan.Plan);
    expect(now.rowsReadTotal).toBeLessThanOrEqual(late?.rowsReadTotal ?? 0);
  });
});

describe("planProblems", () => {
  it("is empty within the limits, and names what is beyond them", async () => {
    const figures = await explainStatement(client, "generic", lookUp);
    expect(planProblems(figures, { buffers: 20, rowsRead: 3, walBytes: 0, executionMs: 1_000 })).toEqual([]);
    expect(planProblems(figures, { buffers: 1, rowsRead: 2, plannedCost: 0 })).toEqual([
      expect.stringMatching(/^generic: \d+ buffers, at most 1 allowed$/),
      expect.stringMatching(/^generic: 3 rows read \(\{"Index Scan":3\}\), at most 2 allowed$/),
      expect.stringMatching(/^generic: \d+ planned cost, at most 0 allowed$/),
    ]);
  });

  it("allows no sequential scan and no sort unless it is told to", async () => {
    const sorted = { text: "select * from items where kind = $1::int order by note, id", values: [3] };
    const figures = await explainStatement(client, "one-shot", sorted);
    expect(planProblems(figures, {})).toEqual([
      "one-shot: 1000 rows sorted (by note,id), at most 0 allowed",
      "one-shot: items is read sequentially, 10000 rows",
    ]);
    expect(planProblems(figures, { seqScans: ["items"], sortedRows: 1_000 })).toEqual([]);
  });
});
