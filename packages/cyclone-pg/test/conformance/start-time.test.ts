import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow, stepRows } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const later = defineStep("later", async (_ctx, at: number) => at);
const chain = defineWorkflow("chain", (b, at: number) => {
  const first = later.do(b, at);
  const alone = later.do(b, at);
  later.do(b, 1, { after: [first, alone] });
});

const databaseNow = async (): Promise<number> => {
  const { rows } = await database.query<{ now: Date }>("select statement_timestamp() as now");
  return Number(rows[0]?.now);
};

describe("a start with a delay", () => {
  it("schedules the root nodes, and no others, by the database's clock", async () => {
    const client = testClient(database);
    const before = await databaseNow();
    const run = await chain.submit(client, 0, { delay: "10m" });
    const after = await databaseNow();
    const rows = await stepRows(database, run.id);
    expect(rows.map((row) => row.state)).toEqual(["scheduled", "scheduled", "pending"]);
    for (const row of rows.slice(0, 2)) {
      expect(Number(row.available_at)).toBeGreaterThanOrEqual(before + 600_000);
      expect(Number(row.available_at)).toBeLessThanOrEqual(after + 600_000);
    }
    expect(rows[2]?.available_at).toBeNull();
  });

  it("starts when its time has come, not before, and then goes on as usual", async () => {
    const startedAt: number[] = [];
    const note = defineStep("note", async () => void startedAt.push(performance.now()));
    const two = defineWorkflow("two", (b) => void note.do(b, undefined, { after: [note.do(b)] }));
    const client = await testWorker(database, [note]);
    const submittedAt = performance.now();
    const run = await two.submit(client, undefined, { delay: "600ms" });
    await run.result();
    expect(startedAt).toHaveLength(2);
    expect(startedAt[0]! - submittedAt).toBeGreaterThanOrEqual(600);
  });

  it("isn't hurried by a worker that is full of other work", async () => {
    const client = await testWorker(database, [later]);
    const delayed = await later.enqueue(client, 1, { delay: "1h" });
    await Promise.all((await later.enqueueMany(client, [1, 2, 3, 4, 5])).map((run) => run.result()));
    await client.drain();
    expect(await delayed.node("later").state()).toBe("scheduled");
    await database.kit.advance("1h");
    expect(await delayed.result()).toBe(1);
  });

  it("of 0 is no delay", async () => {
    const client = testClient(database);
    const run = await later.enqueue(client, 1, { delay: 0 });
    expect((await stepRow(database, run.id)).state).toBe("available");
  });

  it("of hundreds of days is stored as it is", async () => {
    const client = testClient(database);
    const run = await later.enqueue(client, 1, { delay: "400d" });
    const row = await stepRow(database, run.id);
    const inMs = Number(row.available_at) - (await databaseNow());
    expect(Math.abs(inMs - 400 * 86_400_000)).toBeLessThan(60_000);
  });
});

describe("a start with startAt", () => {
  it("schedules the root nodes for that very instant", async () => {
    const client = testClient(database);
    const at = new Date("2031-03-30T01:30:00.123Z");
    const run = await chain.submit(client, 0, { startAt: at });
    expect((await stepRow(database, run.id)).available_at).toEqual(at);
    const text = await later.enqueue(client, 1, { startAt: "2031-03-30T03:30:00.123+02:00" });
    expect((await stepRow(database, text.id)).available_at).toEqual(at);
  });

  it("in the past starts at once", async () => {
    const client = testClient(database);
    const run = await later.enqueue(client, 1, { startAt: new Date(0) });
    expect((await stepRow(database, run.id)).state).toBe("available");
  });

  it("soon starts then", async () => {
    const client = await testWorker(database, [later]);
    const at = (await databaseNow()) + 500;
    const run = await later.enqueue(client, 1, { startAt: new Date(at) });
    await run.result();
    expect(Number((await stepRow(database, run.id)).started_at)).toBeGreaterThanOrEqual(at);
  });

  it("refuses what isn't an instant, and a delay beside it", async () => {
    const client = testClient(database);
    const refused = { code: "CYCLONE_INVALID_OPTION" };
    for (const startAt of ["2031-03-30", "2031-03-30T01:30:00", "tomorrow", new Date(Number.NaN)]) {
      await expect(later.enqueue(client, 1, { startAt })).rejects.toMatchObject(refused);
    }
    await expect(later.enqueue(client, 1, { startAt: new Date(), delay: 1 })).rejects.toMatchObject(refused);
    await expect(later.enqueue(client, 1, { delay: -1 })).rejects.toMatchObject(refused);
  });
});

describe("a scheduled node", () => {
  it("is made available by any worker, also one that can't run it", async () => {
    const stranger = defineStep("stranger", async () => {});
    await testWorker(database, [stranger]);
    const producer = testClient(database);
    const run = await later.enqueue(producer, 1, { delay: "100ms" });
    await eventually(async () => expect((await stepRow(database, run.id)).state).toBe("available"));
  });

  it("keeps its time as its place in the order of claims", async () => {
    const client = testClient(database);
    const run = await later.enqueue(client, 1, { delay: "100ms" });
    const { available_at } = await stepRow(database, run.id);
    await testWorker(database, [defineStep("stranger", async () => {})]);
    const promoted = await eventually(async () => {
      const row = await stepRow(database, run.id);
      expect(row.state).toBe("available");
      return row;
    });
    expect(promoted.available_at).toEqual(available_at);
  });
});

describe("tags", () => {
  it("are stored with the run", async () => {
    const client = testClient(database);
    const run = await chain.submit(client, 0, { tags: ["tenant:7", "é", "a,b", '{"x"}'] });
    const { rows } = await database.query("select tags from cyclone_runs where id = $1", [run.id]);
    expect(rows).toEqual([{ tags: ["tenant:7", "é", "a,b", '{"x"}'] }]);
  });

  it("that can't be stored are refused at the call", async () => {
    const client = testClient(database);
    for (const tag of ["", "a\0", "t".repeat(256), "\udfff"]) {
      await expect(chain.submit(client, 0, { tags: [tag] })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    }
  });
});

describe("an option of a start", () => {
  it("that doesn't exist is refused with a suggestion", async () => {
    const client = testClient(database);
    const mistaken = { idempotencyKeys: "k" } as object;
    await expect(chain.submit(client, 0, mistaken)).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      message: expect.stringContaining("idempotencyKey"),
    });
  });

  it("out of the column's range is refused, never an error of the database", async () => {
    const client = testClient(database);
    for (const priority of [32_768, -32_769, 1.5, Number.NaN]) {
      await expect(later.enqueue(client, 1, { priority })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    }
    for (const priority of [32_767, -32_768]) {
      const run = await later.enqueue(client, 1, { priority });
      expect((await stepRow(database, run.id)).priority).toBe(priority);
    }
  });
});
