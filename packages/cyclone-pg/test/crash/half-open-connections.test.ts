import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Client, defineAction, defineStep, type Run } from "../../src/index.ts";
import { type CrashProxy, startCrashProxy } from "../support/crash-proxy.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
let proxy: CrashProxy;
let producer: Client;

beforeEach(async () => {
  proxy = await startCrashProxy({ target: database.url });
  producer = testClient(database);
});
afterEach(() => proxy.close());

describe("half-open connections: the server has forgotten them, and nobody has told the worker", () => {
  const lease = 4_000;
  const foundWithinMs = lease / 2 + 800;

  /** In how many milliseconds each kind of connection has been replaced by another. */
  async function replaced(kinds: readonly string[], act: () => Promise<void>): Promise<Record<string, number>> {
    await eventually(() =>
      expect(proxy.connections.map((connection) => connection.applicationName)).toEqual(
        expect.arrayContaining([...kinds]),
      ),
    );
    const forgotten = new Set(proxy.connections.map((connection) => connection.id));
    await proxy.network.halfOpen();
    const began = performance.now();
    const afterMs: Record<string, number> = {};
    await act();
    await eventually(() => {
      for (const { id, applicationName } of proxy.connections) {
        if (!forgotten.has(id) && applicationName !== "")
          afterMs[applicationName] ??= Math.round(performance.now() - began);
      }
      expect(Object.keys(afterMs)).toEqual(expect.arrayContaining([...kinds]));
    }, 3 * lease);
    return afterMs;
  }

  it("the engine's are found and replaced within half a lease, each of them, and what was under way is recorded", async () => {
    const [entered, gate, end] = [latch(), latch(), latch()];
    const held = defineStep("held-open", async () => {
      entered.open();
      await gate.opened;
      return "recorded";
    });
    // Its lease is there to be renewed until all have been seen: a worker without one need not replace the renewal's connection.
    const leased = defineStep("leased-to-the-end", () => end.opened);
    const quick = defineStep("recorded-before", () => {});
    const worker = await testWorker({ url: proxy.url }, [held, leased, quick], { leaseTtl: lease });
    await (await quick.enqueue(producer)).result();
    const other = await leased.enqueue(producer);
    const job = await held.enqueue(producer);
    await entered.opened;
    const kinds = ["cyclone claim", "cyclone record", "cyclone renewal", "cyclone listen"];
    const afterMs = await replaced(kinds, async () => gate.open());
    expect(
      kinds.filter((kind) => (afterMs[kind] ?? 0) > foundWithinMs),
      JSON.stringify(afterMs),
    ).toEqual([]);
    expect(await job.result()).toBe("recorded");
    end.open();
    await other.result();
    expect(await stepRow(database, other.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    proxy.network.reset(); // so that stop() need not wait for the limit of a last notification
    await worker.stop();
  });

  it("a completionTx's is found when it begins, and the step is given back without a charge", async () => {
    const pay = defineAction("pay-half-open", async (ctx) => {
      await (await ctx.completionTx()).query("select 1");
    });
    const worker = await testWorker({ url: proxy.url }, [pay], { leaseTtl: lease });
    await (await pay.enqueue(producer)).result();
    let late: Run<void> | undefined;
    const afterMs = await replaced(["cyclone completionTx"], async () => {
      late = await pay.enqueue(producer);
    });
    // One after the other: the claim, the transaction, the giving back, and a second to wait.
    expect(afterMs["cyclone completionTx"]).toBeLessThan(4 * foundWithinMs);
    await late?.result();
    expect(await stepRow(database, late?.id ?? "")).toMatchObject({ attempts: 1 });
    proxy.network.reset(); // so that stop() need not wait for the limit of a last notification
    await worker.stop();
  });
});
