import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow, type JsonValue } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;
let deep: unknown = 1;
for (let i = 0; i < 20_000; i++) deep = [deep];

/** What JSON or Postgres can't hold, each with the path where it stands. */
const unstorable: readonly (readonly [string, unknown, string])[] = [
  ["U+0000 in a text", { a: "x\0y" }, "$.a"],
  ["U+0000 in a key", { list: [{ "k\0": 1 }] }, "$.list[0]"],
  ["a lone surrogate", { a: ["ok", "\ud83d"] }, "$.a[1]"],
  ["a Date", { at: new Date(0) }, "$.at"],
  ["a Map", { m: new Map() }, "$.m"],
  ["a Set", { s: new Set() }, "$.s"],
  ["a bigint", { n: 1n }, "$.n"],
  ["NaN", { n: Number.NaN }, "$.n"],
  ["Infinity", { n: [1, Number.NEGATIVE_INFINITY] }, "$.n[1]"],
  ["a function", { f: () => 1 }, "$.f"],
  ["a symbol", { s: Symbol("s") }, "$.s"],
  ["a cycle", cycle, "$.self"],
  ["a class instance", { e: new Error("x") }, "$.e"],
];

const anything = defineStep("anything", { payload: "unchecked" }, async (_ctx, _value: unknown) => 1);
const wrap = defineWorkflow("wrap", { payload: "unchecked" }, (b, value: unknown) => anything.do(b, value as never));

/** A text that no compression makes shorter. */
const randomText = (length: number): string => randomBytes(length).toString("base64").slice(0, length);
const rowsIn = async (): Promise<number> =>
  Number((await database.query("select count(*) from cyclone_runs")).rows[0]?.["count"]);

describe("an input that can't be stored", () => {
  it("is refused at the call, with its path, before anything is written", async () => {
    const client = testClient(database);
    const before = await rowsIn();
    for (const [what, value, path] of unstorable) {
      const refused = { code: "CYCLONE_INVALID_PAYLOAD", path: expect.stringContaining(path) };
      await expect(anything.enqueue(client, value), what).rejects.toMatchObject(refused);
      await expect(wrap.submit(client, value), what).rejects.toMatchObject(refused);
      await expect(anything.enqueueMany(client, [1, value]), what).rejects.toMatchObject({
        code: "CYCLONE_INVALID_PAYLOAD",
      });
    }
    await expect(anything.enqueue(client, deep)).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
    expect(await rowsIn()).toBe(before);
  });

  it("because it is too large is refused with its size and the limit", async () => {
    const client = testClient(database, { maxPayloadBytes: 1_000 });
    const exact = "x".repeat(998); // with its quotes
    expect(await (await anything.enqueue(client, exact)).node("anything").input()).toBe(exact);
    const refused = anything.enqueue(client, `${exact}y`);
    await expect(refused).rejects.toMatchObject({
      code: "CYCLONE_INVALID_PAYLOAD",
      message: expect.stringMatching(/1,?001.*1,?000|1,?000.*1,?001/),
    });
    // Bytes of UTF-8, not characters.
    await expect(anything.enqueue(client, "é".repeat(500))).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
  });
});

describe("an output that can't be stored", () => {
  it("discards the node at once, with an error that names the path; there is no retry", async () => {
    const calls = new Map<string, number>();
    const values = new Map(unstorable.map(([what, value]) => [what, value]));
    const bad = defineStep("bad-output", { payload: "unchecked", backoff: 1 }, async (_ctx, what: string) => {
      calls.set(what, (calls.get(what) ?? 0) + 1);
      return values.get(what);
    });
    const client = await testWorker(database, [bad]);
    const jobs = await bad.enqueueMany(
      client,
      unstorable.map(([what]) => what),
    );
    for (const [i, job] of jobs.entries()) {
      const [what, , path] = unstorable[i]!;
      expect(await job.wait(), what).toMatchObject({
        state: "failed",
        error: { code: "CYCLONE_INVALID_PAYLOAD", message: expect.stringContaining(path) },
      });
      expect(calls.get(what), what).toBe(1);
      expect(await stepRow(database, job.id), what).toMatchObject({ state: "discarded", attempts: 1, output: null });
      expect(
        (await attemptRows(database, job.id)).map(({ outcome }) => outcome),
        what,
      ).toEqual(["discarded"]);
    }
  });

  it("hurts no other step that ends in the same moment", async () => {
    const gate = latch();
    let waiting = 0;
    const mixed = defineStep("mixed", { payload: "unchecked" }, async (_ctx, n: number) => {
      waiting += 1;
      await gate.opened;
      return n % 10 === 0 ? { bad: "\0" } : { n };
    });
    const client = await testWorker(database, [mixed], { concurrency: 50 });
    const jobs = await mixed.enqueueMany(
      client,
      Array.from({ length: 50 }, (_, n) => n),
    );
    await eventually(() => expect(waiting).toBe(50));
    gate.open();
    const ends = await Promise.all(jobs.map((job) => job.wait()));
    expect(ends.map(({ state }) => state)).toEqual(jobs.map((_, n) => (n % 10 === 0 ? "failed" : "completed")));
    expect((await stepRow(database, jobs[7]?.id ?? "")).output).toEqual({ n: 7 });
  });

  it("that only the database refuses is split off from its group, and discarded too", async () => {
    const gate = latch();
    let waiting = 0;
    const mixed = defineStep("refused", async (_ctx, n: number) => {
      waiting += 1;
      await gate.opened;
      return n;
    });
    // As if the server had a limit that the check before it doesn't know: an error of class 22 for some rows.
    await database.query(`
      create function refuse() returns trigger language plpgsql as
        $$ begin if new.output = '13'::jsonb then raise exception 'staged' using errcode = '22P02'; end if; return new; end $$;
      create trigger refuse before update on cyclone_steps for each row when (new.state = 'completed') execute function refuse()`);
    try {
      const client = await testWorker(database, [mixed], { concurrency: 30 });
      const [completed, discarded] = [eventsOf(client, "step.completed"), eventsOf(client, "step.discarded")];
      const jobs = await mixed.enqueueMany(
        client,
        Array.from({ length: 30 }, (_, n) => n),
      );
      await eventually(() => expect(waiting).toBe(30));
      gate.open();
      const ends = await Promise.all(jobs.map((job) => job.wait()));
      expect(ends.flatMap(({ state }, n) => (state === "completed" ? [] : [n]))).toEqual([13]);
      expect(await stepRow(database, jobs[13]?.id ?? "")).toMatchObject({
        state: "discarded",
        error: { code: "22P02" },
      });
      await client.drain();
      expect(completed).toHaveLength(29);
      expect(discarded).toMatchObject([{ runId: jobs[13]?.id, node: "refused", error: { code: "22P02" } }]);
    } finally {
      await database.query("drop trigger refuse on cyclone_steps");
    }
  });

  it("because it is larger than maxPayloadBytes says so, with size and limit", async () => {
    const large = defineStep("large", async (_ctx, length: number) => "x".repeat(length));
    const client = await testWorker(database, [large], { maxPayloadBytes: 10_000 });
    const [fits, fails] = await large.enqueueMany(client, [9_998, 9_999]);
    expect(await fits?.result()).toHaveLength(9_998);
    expect(await fails?.wait()).toMatchObject({
      state: "failed",
      error: { code: "CYCLONE_INVALID_PAYLOAD", message: expect.stringMatching(/10,?001/) },
    });
  });
});

describe("a large output", () => {
  it("is a megabyte at most where nothing else is said", async () => {
    const large = defineStep("a-megabyte", async (_ctx, length: number) => "x".repeat(length));
    const client = await testWorker(database, [large]);
    const [fits, fails] = await large.enqueueMany(client, [1_048_574, 1_048_575]);
    expect(await fits?.result()).toHaveLength(1_048_574);
    expect(await fails?.wait()).toMatchObject({ state: "failed" });
  });

  it("of tens of megabytes comes back exactly where it is allowed, and other steps keep their leases meanwhile", {
    timeout: 60_000,
  }, async () => {
    const size = 20 * 1024 * 1024;
    const huge = defineStep("huge", async () => "0123456789abcdef".repeat(size / 16));
    const gate = latch();
    const patient = defineStep("patient", async () => gate.opened);
    const client = await testWorker(database, [huge, patient], { maxPayloadBytes: 100 * 1024 * 1024 });
    const waiting = await patient.enqueue(client);
    const job = await huge.enqueue(client);
    const text = await job.result();
    expect(text.length).toBe(size);
    expect(text.slice(-32)).toBe("0123456789abcdef0123456789abcdef");
    expect(await stepRow(database, waiting.id)).toMatchObject({ state: "running", reclaims: 0, lease_epoch: 1 });
    gate.open();
    await waiting.result();
  });
});

describe("a bound input", () => {
  it("larger than maxInputBytes discards the node with an error that says so", async () => {
    const give = defineStep("give-much", async (_ctx, n: number) => randomText(n));
    const take = defineStep("take-much", async (_ctx, values: JsonValue) => JSON.stringify(values).length);
    const client = await testWorker(database, [give, take], { maxInputBytes: 150_000, concurrency: 50 });
    const gather = defineWorkflow("gather-much", (b, each: number) =>
      take.do(
        b,
        Array.from({ length: 200 }, () => give.do(b, each)),
      ),
    );
    expect(await (await gather.submit(client, 500)).result()).toBe(200 * 502 + 201);
    const outcome = await (await gather.submit(client, 1_000)).wait();
    expect(outcome).toMatchObject({
      state: "failed",
      error: { node: "take-much", message: expect.stringContaining("maxInputBytes") },
    });
  });
});
