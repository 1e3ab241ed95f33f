import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type Around,
  type Context,
  createClient,
  Discard,
  defineAction,
  defineStep,
  type Run,
  Snooze,
  type Step,
  TimeoutError,
} from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { latch } from "../support/latch.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const double = defineStep("double", async (_ctx, n: number) => n * 2);

/** Enqueues one job, works until nothing is left, and gives the job. */
async function worked<Out>(step: Step<number, Out>, around: Around, input: number): Promise<Run<Out>> {
  const client = testClient(database, { handlers: [step], around });
  const job = await step.enqueue(client, input);
  await client.drain();
  return job;
}

/** A step whose one attempt decides. */
function once<Out>(name: string, handler: (ctx: Context, n: number) => Out | Promise<Out>) {
  return defineStep(name, { maxAttempts: 1, payload: "unchecked" }, handler);
}

describe("around", () => {
  it("is called around each handler's call, steps and actions, with the handler's own context", async () => {
    const seen: unknown[] = [];
    const contexts: Context[] = [];
    const note = defineAction("note", async (ctx, n: number) => {
      contexts.push(ctx);
      seen.push(`note ${n}`);
    });
    const client = testClient(database, {
      handlers: [double, note],
      around: async (ctx, next) => {
        contexts.push(ctx);
        seen.push(`before ${ctx.step}`);
        seen.push(await next());
        seen.push(`after ${ctx.step}`);
      },
    });
    const job = await double.enqueue(client, 4);
    await client.drain();
    await note.enqueue(client, 5);
    await client.drain();
    expect(seen).toEqual(["before double", 8, "after double", "before note", "note 5", undefined, "after note"]);
    expect(await job.output()).toBe(8);
    expect(contexts[1]).toBe(contexts[2]);
  });

  it("gives each call a context of its own through AsyncLocalStorage", async () => {
    const tenants = new AsyncLocalStorage<string>();
    const all = latch();
    let begun = 0;
    const whose = defineStep("whose", async (_ctx, _n: number) => {
      begun += 1;
      if (begun === 3) all.open();
      await all.opened;
      return tenants.getStore() ?? "nobody's";
    });
    const client = testClient(database, {
      handlers: [whose],
      around: (ctx, next) => tenants.run(`of ${ctx.runId}`, next),
    });
    const jobs = await whose.enqueueMany(client, [1, 2, 3]);
    await client.drain();
    expect(await Promise.all(jobs.map((job) => job.output()))).toEqual(jobs.map((job) => `of ${job.id}`));
  });

  it("may be a function that isn't async, and needn't await what next() gives", async () => {
    const slow = once("slow", async (_ctx, n) => {
      await new Promise(setImmediate);
      return n + 1;
    });
    const job = await worked(slow, (_ctx, next) => void next(), 1);
    expect(await job.output()).toBe(2);
  });

  it("is seen by the timeout, as the handler is", async () => {
    const quick = defineStep("quick", { timeout: "50ms", maxAttempts: 1 }, async (_ctx, n: number) => n);
    const job = await worked(
      quick,
      async (ctx, next) => {
        await next();
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      },
      1,
    );
    expect(await job.wait()).toMatchObject({ state: "failed", error: { name: TimeoutError.name } });
  });

  it("must be a function", () => {
    expect(() => createClient({ connection: "postgres://x", around: 5 as never })).toThrow(
      expect.objectContaining({ code: "CYCLONE_INVALID_OPTION", option: "around" }),
    );
  });
});

describe("what around throws", () => {
  it("is what the handler threw: recorded, charged, tried again", async () => {
    const step = defineStep("refused-once", { backoff: 1 }, async (_ctx, n: number) => n);
    let calls = 0;
    const client = testClient(database, {
      handlers: [step],
      around: (_ctx, next) => {
        calls += 1;
        if (calls === 1) throw new TypeError("no tenant");
        return next();
      },
    });
    await client.start();
    const job = await step.enqueue(client, 7);
    expect(await job.result()).toBe(7);
    expect(await attemptRows(database, job.id)).toMatchObject([
      { attempt: 1, outcome: "failed", error: { name: "TypeError", message: "no tenant" } },
    ]);
  });

  it("may be a Discard or a Snooze, and undoes the handler's completionTx", async () => {
    await database.query("create table written (n int)");
    const writes = defineStep("writes", async (ctx, n: number) => {
      await (await ctx.completionTx()).query("insert into written values ($1)", [n]);
    });
    const client = testClient(database, {
      handlers: [writes],
      around: async (ctx, next) => {
        await next();
        throw ctx.snoozes === 0 ? new Snooze("1ms") : new Discard("not this one");
      },
    });
    await client.start();
    const job = await writes.enqueue(client, 1);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { name: "Discard", message: "not this one" } });
    expect((await database.query("select * from written")).rows).toEqual([]);
  });

  it("may wrap what the handler threw, which waits for the handler's end", async () => {
    const gate = latch();
    const ends: string[] = [];
    const held = once("held", async () => {
      await gate.opened;
      ends.push("handler");
      throw new Error("inner");
    });
    const job = await worked(
      held,
      (_ctx, next) => {
        const handled = next();
        setImmediate(() => gate.open());
        void handled.catch(() => ends.push("seen"));
        throw new Error("outer", { cause: "before the end" });
      },
      1,
    );
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "outer" } });
    expect(ends).toEqual(["handler", "seen"]);
  });
});

describe("what the handler did stands", () => {
  it("also where around keeps its error to itself", async () => {
    const fails = once("fails", async () => {
      throw new RangeError("the handler's");
    });
    const job = await worked(fails, (_ctx, next) => next().catch(() => "another output"), 1);
    expect(await job.wait()).toMatchObject({
      state: "failed",
      error: { name: "RangeError", message: "the handler's" },
    });
  });

  it("also where around changes the value that next() gave", async () => {
    const list = once("list", async (_ctx, n) => [n]);
    const job = await worked(list, async (_ctx, next) => void ((await next()) as number[]).push(99), 1);
    expect(await job.output()).toEqual([1]);
  });

  it("and what its schema makes of it is stored, not what next() gave", async () => {
    const texts = defineStep("texts", { output: z.number().transform(String) }, async (_ctx, n: number) => n);
    const seen: unknown[] = [];
    const job = await worked(texts, async (_ctx, next) => void seen.push(await next()), 3);
    expect(await job.output()).toBe("3");
    expect(seen).toEqual([3]);
  });

  it("and an output that can't be stored rejects next(), and is discarded at once", async () => {
    const unstorable = defineStep("unstorable", { payload: "unchecked" }, async (_ctx, _n: number) => ({ at: 1n }));
    const seen: unknown[] = [];
    const job = await worked(
      unstorable,
      async (_ctx, next) => {
        try {
          return await next();
        } catch (error) {
          seen.push(error);
          throw new Error("wrapped", { cause: error });
        }
      },
      1,
    );
    expect(seen).toMatchObject([{ code: "CYCLONE_INVALID_PAYLOAD", path: "$.at" }]);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 1 });
  });
});

describe("a misused around fails the attempt with CYCLONE_AROUND", () => {
  let calls = 0;
  const counted = once("counted", async (_ctx, n) => {
    calls += 1;
    return { n };
  });
  const misuses: [string, Around, number, RegExp][] = [
    ["that never calls next()", () => undefined, 0, /without calling next\(\)/],
    ["that calls next() twice", async (_ctx, next) => [await next(), await next()], 1, /twice/],
    [
      "that calls next() twice and hides what that gives",
      async (_ctx, next) => {
        await next();
        await next().catch(() => undefined);
      },
      1,
      /twice/,
    ],
    ["that returns another output", async (_ctx, next) => ({ ...((await next()) as object) }), 1, /something else/],
  ];

  it.each(misuses)("%s", async (_name, around, expectedCalls, message) => {
    calls = 0;
    const job = await worked(counted, around, 1);
    const { state, error } = await job.wait();
    expect({ state, calls }).toEqual({ state: "failed", calls: expectedCalls });
    expect(error).toMatchObject({ code: "CYCLONE_AROUND", message: expect.stringMatching(message) });
  });

  it("that calls next() after it has returned: the handler isn't called", async () => {
    calls = 0;
    const late = latch<unknown>();
    const job = await worked(
      counted,
      (_ctx, next) => void setImmediate(() => void next().catch((error: unknown) => late.open(error))),
      1,
    );
    expect((await job.wait()).error).toMatchObject({ code: "CYCLONE_AROUND" });
    expect(await late.opened).toMatchObject({ code: "CYCLONE_AROUND" });
    expect(calls).toBe(0);
  });
});
