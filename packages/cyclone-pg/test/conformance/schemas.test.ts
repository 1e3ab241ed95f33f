import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAction, defineStep, defineWorkflow, type Schema } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const order = z.object({
  id: z.string(),
  at: z.iso.datetime().transform((text) => new Date(text)),
  qty: z.number().default(1),
});

const rowsIn = async (): Promise<number> =>
  Number((await database.query("select count(*) from cyclone_runs")).rows[0]?.["count"]);

describe("an input schema", () => {
  it("has its input stored, and its output given to the handler", async () => {
    const seen: unknown[] = [];
    const price = defineStep("price", { input: order }, async (_ctx, input) => {
      seen.push(input);
      return input.at.getTime() * input.qty;
    });
    const client = await testWorker(database, [price]);
    const job = await price.enqueue(client, { id: "a", at: "2026-01-02T03:04:05Z" });
    expect(await job.result()).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
    expect(seen).toEqual([{ id: "a", at: new Date("2026-01-02T03:04:05Z"), qty: 1 }]);
    expect(await job.node("price").input()).toEqual({ id: "a", at: "2026-01-02T03:04:05Z" });
  });

  it("refuses a literal at the submit, and nothing is written", async () => {
    const strict = defineStep("strict", { input: z.object({ n: z.number().max(3) }) }, async (_ctx, { n }) => n);
    const workflow = defineWorkflow("with-literal", (b, n: number) => strict.do(b, { n }));
    const client = testClient(database);
    const before = await rowsIn();
    const refused = { code: "CYCLONE_INVALID_PAYLOAD", issues: [expect.objectContaining({ path: "$.n" })] };
    await expect(strict.enqueue(client, { n: 4 })).rejects.toMatchObject(refused);
    await expect(workflow.submit(client, 5)).rejects.toMatchObject(refused);
    expect(await rowsIn()).toBe(before);
    expect((await strict.enqueue(client, { n: 3 })).existing).toBe(false);
  });

  it("that refuses in the worker is an ordinary failed attempt, and the handler isn't called", async () => {
    let calls = 0;
    const give = defineStep("give-number", async (_ctx, n: number) => n);
    const small = defineStep("small", { input: z.number().max(3), maxAttempts: 2, backoff: 1 }, async (_ctx, n) => {
      calls += 1;
      return n;
    });
    const client = await testWorker(database, [give, small]);
    const run = await defineWorkflow("bound", (b) => small.do(b, give.do(b, 7))).submit(client);
    expect(await run.wait()).toMatchObject({
      state: "failed",
      error: { code: "CYCLONE_INVALID_PAYLOAD", node: "small" },
    });
    expect(calls).toBe(0);
    expect((await attemptRows(database, run.id)).map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
  });

  it("may validate asynchronously", async () => {
    const slow = z.string().refine(async (text) => {
      await new Promise((resolve) => setImmediate(resolve));
      return text !== "bad";
    });
    const step = defineStep("async-schema", { input: slow, maxAttempts: 1 }, async (_ctx, text) => text.length);
    const client = await testWorker(database, [step]);
    expect(await (await step.enqueue(client, "good")).result()).toBe(4);
    await expect(step.enqueue(client, "bad")).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
    await expect(step.enqueueMany(client, ["good", "bad"])).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
  });

  it("of a workflow gives the builder its output, and the row its input", async () => {
    const step = defineStep("stamp", async (_ctx, at: string) => at);
    const workflow = defineWorkflow("parsed", { input: order }, (b, o) =>
      step.do(b, `${o.at.getUTCFullYear()} ${o.qty}`),
    );
    const client = await testWorker(database, [step]);
    const run = await workflow.submit(client, { id: "a", at: "2026-01-02T03:04:05Z" });
    expect(await run.result()).toBe("2026 1");
    const { rows } = await database.query("select input from cyclone_runs where id = $1", [run.id]);
    expect(rows).toEqual([{ input: { id: "a", at: "2026-01-02T03:04:05Z" } }]);
    await expect(workflow.submit(client, { id: "a", at: "yesterday" })).rejects.toMatchObject({
      code: "CYCLONE_INVALID_PAYLOAD",
    });
  });

  it("of an action is checked as well", async () => {
    const act = defineAction("checked-action", { input: z.object({ n: z.coerce.number() }) }, async (_ctx, { n }) => {
      expect(n).toBe(5);
    });
    const client = await testWorker(database, [act]);
    const job = await act.enqueue(client, { n: "5" });
    expect((await job.wait()).state).toBe("completed");
  });
});

describe("an output schema", () => {
  it("has what it gives back stored, and given to dependents and readers", async () => {
    const output = z.object({
      at: z.date().transform((date) => date.toISOString()),
      extra: z.string().default("added"),
    });
    const stamp = defineStep("stamped", { output }, async () => ({ at: new Date(0) }));
    const read = defineStep("read", async (_ctx, value: { at: string; extra: string }) => value);
    const client = await testWorker(database, [stamp, read]);
    const run = await defineWorkflow("stamped", (b) => read.do(b, stamp.do(b))).submit(client);
    const expected = { at: "1970-01-01T00:00:00.000Z", extra: "added" };
    expect(await run.result()).toEqual(expected);
    expect(await run.node("stamped").output()).toEqual(expected);
  });

  it("that refuses is an ordinary failed attempt, and undoes the completionTx", async () => {
    await database.query("create table effects (attempt int)");
    const picky = defineStep("picky", { output: z.number().min(2), backoff: 1 }, async (ctx) => {
      await (await ctx.completionTx()).query("insert into effects values ($1)", [ctx.attempt]);
      return ctx.attempt;
    });
    const client = await testWorker(database, [picky]);
    const job = await picky.enqueue(client);
    expect(await job.result()).toBe(2);
    expect((await stepRow(database, job.id)).attempts).toBe(2);
    expect((await database.query("select attempt from effects")).rows).toEqual([{ attempt: 2 }]);
  });
});

describe("a schema", () => {
  it("of any library that speaks Standard Schema will do, also one that throws", async () => {
    const even: Schema<number, number> = {
      "~standard": {
        version: 1,
        vendor: "by-hand",
        validate: (value) => {
          if (value === 13) throw new Error("unlucky");
          return typeof value === "number" && value % 2 === 0
            ? { value: value / 2 }
            : { issues: [{ message: "not even" }] };
        },
      },
    };
    const half = defineStep("half", { input: even, maxAttempts: 1 }, async (_ctx, n) => n);
    const give = defineStep("give-any", async (_ctx, n: number) => n);
    const client = await testWorker(database, [half, give]);
    expect(await (await half.enqueue(client, 8)).result()).toBe(4);
    await expect(half.enqueue(client, 7)).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
    await expect(half.enqueue(client, 13)).rejects.toThrowError("unlucky");
    const run = await defineWorkflow("unlucky", (b) => half.do(b, give.do(b, 13))).submit(client);
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: expect.stringContaining("unlucky") } });
  });
});
