import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, defineAction, defineStep, type Run } from "../../src/index.ts";
import { checkHistory, createLedger } from "../support/check-history.ts";
import { type CrashProxy, startCrashProxy } from "../support/crash-proxy.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
let proxy: CrashProxy;
let producer: Client;

beforeAll(() => createLedger((text) => database.query(text)));
beforeEach(async () => {
  proxy = await startCrashProxy({ target: database.url });
  producer = testClient(database);
});
afterEach(() => proxy.close());

const LEASE_MS = 2_000;

/** Writes one ledger row with its completion, and takes a moment, so that faults fall in the middle of calls. */
const paying = (name: string) =>
  defineAction(name, { maxReclaims: 1_000 }, async (ctx) => {
    const tx = await ctx.completionTx();
    await tx.query(
      "insert into ledger (run_id, node, epoch) select run_id, node, lease_epoch from cyclone_steps where run_id = $1",
      [ctx.runId],
    );
    await wait(10);
  });

const completedOf = async (step: string): Promise<number> => {
  const { rows } = await database.query("select 1 from cyclone_steps where step = $1 and state = 'completed'", [step]);
  return rows.length;
};
const chargedOf = async (step: string): Promise<unknown[]> => {
  const { rows } = await database.query("select distinct attempts from cyclone_steps where step = $1", [step]);
  return rows;
};

async function expectAllPaid(step: string, jobs: readonly Run<void>[], worker: Client): Promise<void> {
  await Promise.all(jobs.map((job) => job.result()));
  await worker.stop();
  expect(await chargedOf(step)).toEqual([{ attempts: 1 }]);
  const ledger = { table: "ledger" };
  expect(await checkHistory(database.url, { mode: "liveness", ledger })).toEqual([]);
}

describe("R15: the connections of a worker are reset in the middle of jobs, again and again", () => {
  it("no attempt is charged, each ledger row is written once, and all jobs end", async () => {
    const pay = paying("pay-reset");
    const worker = await testWorker({ url: proxy.url }, [pay], { leaseTtl: LEASE_MS, concurrency: 5 });
    const jobs = await pay.enqueueMany(producer, Array.from({ length: 100 }));
    for (let reset = 1; reset <= 5; reset++) {
      await eventually(async () => expect(await completedOf("pay-reset")).toBeGreaterThanOrEqual(reset * 15));
      proxy.network.reset();
    }
    await expectAllPaid("pay-reset", jobs, worker);
  });

  it("and new ones refused for a while: the same", async () => {
    const pay = paying("pay-refused");
    const worker = await testWorker({ url: proxy.url }, [pay], { leaseTtl: LEASE_MS, concurrency: 5 });
    const jobs = await pay.enqueueMany(producer, Array.from({ length: 60 }));
    await eventually(async () => expect(await completedOf("pay-refused")).toBeGreaterThanOrEqual(20));
    proxy.network.refuse();
    proxy.network.reset();
    await wait(LEASE_MS / 2);
    expect(proxy.connections).toEqual([]);
    proxy.network.heal();
    await expectAllPaid("pay-refused", jobs, worker);
  });
});

describe("the network of a worker is a black hole", () => {
  it("for three leases and for all workers: no live handler is reclaimed, and the outcome is recorded afterwards", async () => {
    const [entered, gate] = [latch(), latch()];
    const slow = defineStep("slow-for-all", async () => {
      entered.open();
      await gate.opened;
      return "kept";
    });
    const url = proxy.url;
    const workers = [
      await testWorker({ url }, [slow], { leaseTtl: LEASE_MS }),
      await testWorker({ url }, [slow], { leaseTtl: LEASE_MS }),
    ];
    const reclaimed = workers.map((worker) => eventsOf(worker, "step.reclaimed"));
    const job = await slow.enqueue(producer);
    await entered.opened;
    proxy.network.blackHole();
    await wait(3 * LEASE_MS);
    proxy.network.heal();
    // Each worker renews or sweeps for a lease more, before the handler ends.
    await wait(1.2 * LEASE_MS);
    gate.open();
    expect(await job.result()).toBe("kept");
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(reclaimed).toEqual([[], []]);
  });

  it("for this one alone: another worker takes its step, it is refused, and goes on when the network is back", async () => {
    const [entered, gate] = [latch(), latch()];
    const cut = defineStep("cut-off", async (ctx) => {
      if (ctx.reclaims > 0) return "the other";
      entered.open();
      await gate.opened;
      return "the one cut off";
    });
    const lonely = await testWorker({ url: proxy.url }, [cut], { leaseTtl: "1s" });
    const lost = eventsOf(lonely, "lease.lost");
    const job = await cut.enqueue(producer);
    await entered.opened;
    proxy.network.blackHole();
    const other = await testWorker(database, [cut], { leaseTtl: "1s" });
    expect(await job.result()).toBe("the other");
    await other.stop();
    gate.open();
    proxy.network.heal();
    await eventually(() => expect(lost).toHaveLength(1));
    expect(await stepRow(database, job.id)).toMatchObject({ output: "the other", attempts: 1, lease_epoch: 2 });

    const next = defineStep("cut-off", () => "");
    const again = await next.enqueue(producer);
    expect(await again.result()).toBe("the one cut off");
  });
});
