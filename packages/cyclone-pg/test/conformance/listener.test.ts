import { describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);

const listeners = async (): Promise<number[]> => {
  const { rows } = await database.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'cyclone listen'",
  );
  return rows.map((row) => row.pid);
};

describe("the listening connection", () => {
  it("that is killed is reported once, and comes back by itself", async () => {
    const client = await testWorker(database, [add], { pollInterval: "10m" });
    const degraded = eventsOf(client, "worker.degraded");
    const [pid] = await eventually(async () => {
      const found = await listeners();
      expect(found).toHaveLength(1);
      return found;
    });
    await database.query("select pg_terminate_backend($1)", [pid]);
    await eventually(() => expect(degraded).toHaveLength(1));
    expect(degraded[0]?.reason).toMatch(/[Nn]otifications/);
    await eventually(async () => {
      const now = await listeners();
      expect(now).toHaveLength(1);
      expect(now).not.toContain(pid);
    });
    // Only a notification wakes this worker within the test's time.
    const producer = testClient(database, { pollInterval: "10m" });
    const job = await add.enqueue(producer, 1);
    await eventually(async () => expect(await job.state()).toBe("completed"));
    expect(degraded).toHaveLength(1);
  });

  it("looks, once it is back, for what it can't have heard of meanwhile", async () => {
    const client = await testWorker(database, [add], { pollInterval: "10m" });
    const [pid] = await eventually(async () => {
      const found = await listeners();
      expect(found).toHaveLength(1);
      return found;
    });
    await database.query("select pg_terminate_backend($1)", [pid]);
    // A submit that notifies nobody stands in for one whose notification came while nobody listened.
    const producer = testClient(database, { notify: false });
    const tx = await database.pool.connect();
    try {
      await tx.query("begin");
      const job = await add.enqueue(producer, 1, { tx });
      await tx.query("commit");
      await eventually(async () => expect(await job.state()).toBe("completed"));
    } finally {
      tx.release();
    }
    await client.stop();
  });

  it("isn't opened where `listen: false` says so; the poll finds the work", async () => {
    await testWorker(database, [add], { listen: false });
    const producer = testClient(database, { listen: false });
    expect(await (await add.enqueue(producer, 1)).result()).toBe(2);
    expect(await listeners()).toEqual([]);
  });

  it("may go another way than the rest (directConnection), and work goes on where that way is closed", async () => {
    const closed = "postgres://postgres@127.0.0.1:1/none";
    const client = testClient(database, { handlers: [add], directConnection: closed });
    const degraded = eventsOf(client, "worker.degraded");
    await client.start();
    expect(await (await add.enqueue(testClient(database), 1)).result()).toBe(2);
    expect(degraded).toHaveLength(1);
    await client.stop();
  });
});

describe("a database that can't be reached", () => {
  it("is waited for by start(), as long as it takes", async () => {
    const { startCrashProxy } = await import("../support/crash-proxy.ts");
    await using proxy = await startCrashProxy({ target: database.url });
    proxy.network.refuse();
    const client = testClient({ url: proxy.url }, { handlers: [add] });
    let started = false;
    const starting = client.start().then(() => {
      started = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(started).toBe(false);
    proxy.network.heal();
    await starting;
    expect(await (await add.enqueue(client, 1)).result()).toBe(2);
    await client.stop();
  });
});
