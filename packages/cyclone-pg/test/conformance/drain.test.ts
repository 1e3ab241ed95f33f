import { setImmediate as setImmediately } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const effect = defineStep("effect", async (ctx, n: number) => {
  await (await ctx.completionTx()).query("select 1");
  return n + 1;
});
const chain = defineWorkflow("chain", (b, n: number) => add.do(b, effect.do(b, add.do(b, effect.do(b, n)))));

describe("drain()", () => {
  it("works until nothing is available, whole workflows included, then returns", async () => {
    const client = testClient(database, { handlers: [add, effect] });
    const runs = await chain.submitMany(
      client,
      Array.from({ length: 50 }, (_, n) => n),
    );
    await client.drain();
    expect(await Promise.all(runs.map((run) => run.output()))).toEqual(runs.map((_, n) => n + 4));
  });

  it("of a client that wasn't started leaves it not started, and can be repeated", async () => {
    const client = testClient(database, { handlers: [add] });
    await client.drain();
    const job = await add.enqueue(client, 1);
    const other = await testWorker(database, [defineStep("stranger", async () => {})]);
    await other.drain();
    expect(await job.state()).toBe("running");
    expect(await job.node("add").state()).toBe("available");
    await client.drain();
    expect(await job.output()).toBe(2);
    await client.start();
    expect(await (await add.enqueue(client, 2)).result()).toBe(3);
  });

  it("of a client that works waits for what it does, and goes on working", async () => {
    const gate = latch();
    const held = defineStep("held", async () => gate.opened);
    const client = await testWorker(database, [held, add]);
    const job = await held.enqueue(client);
    let drained = false;
    const draining = client.drain().then(() => {
      drained = true;
    });
    await database.kit.waitForNode(job, "held", "running");
    expect(drained).toBe(false);
    gate.open();
    await draining;
    expect(await job.state()).toBe("completed");
    expect(await (await add.enqueue(client, 1)).result()).toBe(2);
  });

  it("doesn't wait for what waits for a time, nor for what others have or know", async () => {
    const failing = defineStep("failing", { backoff: "1h" }, async () => {
      throw new Error("later");
    });
    const unknown = defineStep("unknown", async () => {});
    const client = testClient(database, { handlers: [add, failing] });
    const delayed = await add.enqueue(client, 1, { delay: "1h" });
    const retried = await failing.enqueue(client);
    const foreign = await unknown.enqueue(client);
    await client.drain({ timeout: "20s" });
    expect((await stepRow(database, delayed.id)).state).toBe("scheduled");
    expect(await stepRow(database, retried.id)).toMatchObject({ state: "scheduled", attempts: 1 });
    expect((await stepRow(database, foreign.id)).state).toBe("available");
  });

  it("rejects when its time is up, and the work goes on being done", async () => {
    const gate = latch();
    const held = defineStep("held-up", async () => gate.opened);
    const client = await testWorker(database, [held]);
    const job = await held.enqueue(client);
    await expect(client.drain({ timeout: "100ms" })).rejects.toMatchObject({ code: "CYCLONE_DRAIN_TIMEOUT" });
    gate.open();
    await job.result();
  });

  it("twice, and a start meanwhile, come one after the other: there is never more than one worker", async () => {
    let [now, most] = [0, 0];
    const counted = defineStep("counted", async () => {
      now += 1;
      most = Math.max(most, now);
      await setImmediately();
      now -= 1;
    });
    const client = testClient(database, { handlers: [counted], concurrency: 2 });
    await counted.enqueueMany(client, Array.from({ length: 40 }));
    await Promise.all([client.drain(), client.drain(), client.start(), client.drain()]);
    expect(most).toBe(2);
    expect(await (await counted.enqueue(client)).result()).toBeUndefined();
    await client.stop();
  });

  it("of a client that wasn't started ends with the client's stop, which gives back what runs", async () => {
    const entered = latch();
    const endless = defineStep("endless", async (ctx) => {
      entered.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      throw ctx.signal.reason;
    });
    const client = testClient(database, { handlers: [endless] });
    const job = await endless.enqueue(client);
    const drain = client.drain({ timeout: "1h" }).catch((error: unknown) => error);
    await entered.opened;
    await client.stop({ timeout: 0 });
    expect(await drain).toMatchObject({ code: "CYCLONE_CLIENT_STOPPED" });
    expect(await stepRow(database, job.id)).toMatchObject({ state: "available", attempts: 0 });
    await testClient(database).run(job.id).cancel();
  });

  it("needs handlers, and knows its options", async () => {
    await expect(testClient(database).drain()).rejects.toMatchObject({ code: "CYCLONE_PRODUCER_ONLY" });
    const client = testClient(database, { handlers: [add] });
    await expect(client.drain({ timeOut: 5 } as object)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
  });
});
