import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineStep, Snooze } from "../../src/index.ts";
import { startCrashProxy } from "../support/crash-proxy.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Gathers what Node.js warns of while `work` runs; timers beyond 24.8 days fire at once, and are warned of. */
async function warningsOf(work: () => Promise<unknown>): Promise<string[]> {
  const warnings: string[] = [];
  const listen = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
  process.on("warning", listen);
  try {
    await work();
    await sleep(20); // warnings are emitted on a later turn
  } finally {
    process.off("warning", listen);
  }
  return warnings;
}

/** How many statements go over the wire within a second while nothing is to do. */
async function statementsPerSecond(
  options: object,
  prepare: (client: ReturnType<typeof testClient>) => Promise<unknown>,
) {
  await using proxy = await startCrashProxy({ target: database.url });
  const client = testClient({ url: proxy.url }, options);
  await client.start();
  await prepare(client);
  await sleep(500);
  proxy.arm();
  await sleep(1_000);
  const count = proxy.points.length;
  await client.stop({ timeout: 0 });
  return count;
}

const idle = defineStep("idle", async () => {});

describe("times of more than 24.8 days", () => {
  it("as the poll interval make no worker and no waiter spin", async () => {
    let count = 0;
    const warnings = await warningsOf(async () => {
      count = await statementsPerSecond({ handlers: [idle], pollInterval: "60d", leaseTtl: "30s" }, async (client) => {
        const later = await idle.enqueue(client, undefined, { delay: "30d" });
        void later.wait().catch(() => undefined);
      });
    });
    expect(warnings).toEqual([]);
    expect(count).toBeLessThan(10);
  });

  it("as the lease make no renewal spin, and a completionTx isn't called long at once", async () => {
    const gate = latch();
    const held = defineStep("held", async (ctx) => {
      await ctx.completionTx();
      await gate.opened;
    });
    let count = 0;
    const degraded: unknown[] = [];
    const warnings = await warningsOf(async () => {
      count = await statementsPerSecond({ handlers: [held], leaseTtl: "100d", pollInterval: "1h" }, async (client) => {
        client.on("worker.degraded", (event) => void degraded.push(event));
        const job = await held.enqueue(client);
        await eventually(async () => expect((await stepRow(database, job.id)).state).toBe("running"));
      });
      gate.open();
    });
    expect(warnings).toEqual([]);
    expect(degraded).toEqual([]);
    expect(count).toBeLessThan(10);
  });

  it("as the delay of a snooze, a backoff or a start fire nothing early", async () => {
    let calls = 0;
    const sleepy = defineStep("sleepy", async () => {
      calls += 1;
      throw new Snooze("40d");
    });
    const failing = defineStep("failing", { backoff: "60d" }, async () => {
      calls += 1;
      throw new Error("later");
    });
    const warnings = await warningsOf(async () => {
      const client = await testWorker(database, [sleepy, failing, idle]);
      const snoozed = eventsOf(client, "step.snoozed");
      const failed = eventsOf(client, "step.failed");
      await sleepy.enqueue(client);
      await failing.enqueue(client);
      const delayed = await idle.enqueue(client, undefined, { delay: "30d" });
      await eventually(() => expect([snoozed.length, failed.length]).toEqual([1, 1]));
      await client.drain();
      await sleep(300);
      expect((await stepRow(database, delayed.id)).state).toBe("scheduled");
      await client.stop();
    });
    expect(calls).toBe(2);
    expect(warnings).toEqual([]);
  });

  it("as a handler's timeout don't abort it at once", async () => {
    const gate = latch();
    const patient = defineStep("patient", { timeout: "40d", maxAttempts: 1 }, async (ctx) => {
      await gate.opened;
      return ctx.signal.aborted;
    });
    const warnings = await warningsOf(async () => {
      const client = await testWorker(database, [patient]);
      const job = await patient.enqueue(client);
      await eventually(async () => expect((await stepRow(database, job.id)).state).toBe("running"));
      await sleep(100);
      gate.open();
      expect(await job.result()).toBe(false);
    });
    expect(warnings).toEqual([]);
  });

  it("as the patience of stop() wait for the handlers", async () => {
    const gate = latch();
    const slow = defineStep("slow", async (ctx) => {
      await gate.opened;
      return ctx.signal.aborted;
    });
    const warnings = await warningsOf(async () => {
      const client = await testWorker(database, [slow]);
      const job = await slow.enqueue(testClient(database));
      await eventually(async () => expect((await stepRow(database, job.id)).state).toBe("running"));
      const stopped = client.stop({ timeout: "30d" });
      await sleep(200);
      gate.open();
      await stopped;
      expect(await job.result()).toBe(false);
    });
    expect(warnings).toEqual([]);
  });

  it("as the limit of drain() don't end it at once", async () => {
    const quick = defineStep("quick", async () => {});
    const warnings = await warningsOf(async () => {
      const client = testClient(database, { handlers: [quick] });
      const job = await quick.enqueue(client);
      await client.drain({ timeout: "30d" });
      expect(await job.state()).toBe("completed");
    });
    expect(warnings).toEqual([]);
  });
});
