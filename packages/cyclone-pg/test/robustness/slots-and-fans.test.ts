import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

describe("R21: a healthy step that runs for many leases while five workers sweep", () => {
  it("is called once and never reclaimed", async () => {
    let calls = 0;
    const long = defineStep("long", async () => {
      calls += 1;
      await wait(8_000);
      return "done";
    });
    const workers = await Promise.all(
      Array.from({ length: 5 }, () => testWorker(database, [long], { leaseTtl: "2s", maxConnections: 6 })),
    );
    const reclaimed = workers.map((worker) => eventsOf(worker, "step.reclaimed"));
    const job = await long.enqueue(testClient(database));
    expect(await job.result()).toBe("done");
    expect(calls).toBe(1);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(reclaimed.flat()).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});

describe("R24: 500 branches that end together on 50 slots of two workers, some failing at first", () => {
  it("start their join once, complete their run once, and answer each waiter once", async () => {
    let joins = 0;
    const branch = defineStep("branch", { backoff: 1 }, (ctx, n: number) => {
      if (ctx.attempt === 1 && n % 7 === 0) throw new Error("at first");
      return n;
    });
    const join = defineStep("join", (_ctx, numbers: number[]) => {
      joins += 1;
      return numbers.reduce((sum, n) => sum + n, 0);
    });
    const fan = defineWorkflow("fan", (b) =>
      join.do(
        b,
        Array.from({ length: 500 }, (_, n) => branch.do(b, n)),
      ),
    );
    const workers = [
      await testWorker(database, [branch, join], { concurrency: 25 }),
      await testWorker(database, [branch, join], { concurrency: 25 }),
    ];
    const completed = workers.map((worker) => eventsOf(worker, "run.completed"));
    const run = await fan.submit(testClient(database));
    const sum = (499 * 500) / 2;
    expect(await Promise.all(Array.from({ length: 20 }, () => run.result()))).toEqual(
      Array.from({ length: 20 }, () => sum),
    );
    expect(joins).toBe(1);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(completed.flat()).toEqual([{ runId: run.id, name: "fan" }]);
  });
});

describe("R46: one long step and a thousand short ones on ten slots", () => {
  it("keep the other nine busy, and nothing waits in a worker that another could take", async () => {
    const long = defineStep("a long one", async () => wait(60_000, undefined, { ref: false }));
    const short = defineStep("a short one", async () => wait(20));
    const worker = await testWorker(database, [long, short], { concurrency: 10 });
    const producer = testClient(database);
    const blocking = await long.enqueue(producer, undefined, { priority: 1 });
    const jobs = await short.enqueueMany(producer, Array.from({ length: 1_000 }));
    let most = 0;
    const watch = setInterval(() => {
      void database
        .query("select 1 from cyclone_steps where state = 'running'")
        .then(({ rows }) => {
          most = Math.max(most, rows.length);
        })
        .catch(() => {});
    }, 50);
    await Promise.all(jobs.map((job) => job.wait()));
    clearInterval(watch);
    // 1,000 of 20 ms on nine slots take 2.2 s of handlers' time; what waits for its slot isn't claimed, but for a group under way.
    expect(most).toBeLessThanOrEqual(2 * 10);
    expect(await blocking.state()).toBe("running");
    await worker.stop({ timeout: 0 });
    expect(await stepRow(database, blocking.id)).toMatchObject({ state: "available", attempts: 0, reclaims: 0 });
  });
});
