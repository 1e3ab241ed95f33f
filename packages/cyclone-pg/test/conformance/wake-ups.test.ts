import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { startCrashProxy } from "../support/crash-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
/** Polls don't come within the test's time: whatever happens was woken. */
const deaf = { listen: false, pollInterval: "10m" } as const;
const hearing = { pollInterval: "10m" } as const;

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const effect = defineStep("effect", async (ctx, n: number) => {
  await (await ctx.completionTx()).query("select 1");
  return n + 1;
});
const chain = defineWorkflow("chain", (b, n: number) => {
  let last = add.do(b, n);
  for (let i = 0; i < 5; i++) last = effect.do(b, add.do(b, last));
  return last;
});

describe("a worker is woken at once", () => {
  it("by its own process's submits and completions, without any notification", async () => {
    const client = await testWorker(database, [add, effect], deaf);
    await client.drain();
    expect(await (await chain.submit(client, 0)).result()).toBe(11);
    const runs = await chain.submitMany(client, [1, 2, 3]);
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([12, 13, 14]);
  });

  it("by a slot that becomes free", async () => {
    const client = await testWorker(database, [add], { ...deaf, concurrency: 1 });
    const jobs = await add.enqueueMany(
      client,
      Array.from({ length: 40 }, (_, n) => n),
    );
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map((_, n) => n + 1));
  });

  it("by another process's submit", async () => {
    await testWorker(database, [add], hearing);
    const producer = testClient(database, hearing);
    for (let n = 0; n < 5; n++) expect(await (await add.enqueue(producer, n)).result()).toBe(n + 1);
  });

  it("by another process's completion, when what follows is its own to run", async () => {
    await testWorker(database, [add], hearing);
    const other = await testWorker(database, [effect], hearing);
    expect(await (await chain.submit(other, 0)).result()).toBe(11);
  });

  it("by what another process gives back when it stops", async () => {
    let calls = 0;
    const held = defineStep("held", async (ctx) => {
      calls += 1;
      if (calls > 1) return calls;
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      throw ctx.signal.reason;
    });
    const first = await testWorker(database, [held], hearing);
    const producer = testClient(database, hearing);
    const job = await held.enqueue(producer);
    await eventually(() => expect(calls).toBe(1));
    await testWorker(database, [held], hearing);
    await first.stop({ timeout: 0 });
    expect(await job.result()).toBe(2);
  });

  it("when a retry or a snooze of its own is due", async () => {
    const flaky = defineStep("flaky", { backoff: "100ms" }, async (ctx) => {
      if (ctx.attempt < 3) throw new Error("again");
      return ctx.attempt;
    });
    const client = await testWorker(database, [flaky], deaf);
    expect(await (await flaky.enqueue(client)).result()).toBe(3);
  });
});

describe("without any wake-up", () => {
  it("the poll finds everything: new, due, given back", async () => {
    const client = await testWorker(database, [add, effect], { listen: false, pollInterval: "60ms" });
    await client.drain();
    const producer = testClient(database, { listen: false, notify: false });
    const run = await chain.submit(producer, 0, { delay: "100ms" });
    expect(await run.result()).toBe(11);
  });
});

describe("the poll alone", () => {
  it("finds work of each step and each queue that the worker has, whichever comes first among its handlers", async () => {
    const steps = Array.from({ length: 4 }, (_, i) =>
      defineStep(`polled-${i}`, { queue: `polled-${i % 2}` }, async () => i),
    );
    const client = await testWorker(database, steps, { listen: false, pollInterval: "60ms" });
    await client.drain();
    const producer = testClient(database, { listen: false, pollInterval: "60ms" });
    // One after the other, so that no claim for one finds another by the way; each in its step's own queue and in the other one.
    for (const [i, step] of [...steps.entries()].reverse()) {
      for (const queue of [`polled-${i % 2}`, `polled-${(i + 1) % 2}`]) {
        expect(await (await step.enqueue(producer, undefined, { queue })).result()).toBe(i);
      }
    }
  });
});

describe("many starts and completions", () => {
  it("send few notifications: those that come together are one", async () => {
    const gate = latch();
    const held = defineStep("together", async () => gate.opened);
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { handlers: [held], concurrency: 300 });
    await client.start();
    proxy.arm({ only: (text) => text.includes("cyclone:notify") });
    const begun = performance.now();
    const jobs = await Promise.all(Array.from({ length: 300 }, () => held.enqueue(client)));
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    const ms = performance.now() - begun;
    // At most one under way and one due at any time, with 10 ms between them.
    expect(proxy.points.length).toBeLessThanOrEqual(2 + ms / 10);
    expect(proxy.points.length).toBeLessThan(200);
    await client.stop();
  });
});
