import { describe, expect, it } from "vitest";
import { Discard, defineStep } from "../../src/index.ts";
import { startCrashProxy } from "../support/crash-proxy.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const echo = defineStep("echo", async (_ctx, n: number) => n);
const asks = (text: string): boolean => text.includes("cyclone:find_ended_runs");

describe("those who wait for runs", () => {
  it("share their queries: a thousand cost no more than a few", { timeout: 60_000 }, async () => {
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { pollInterval: "1s" });
    const jobs = await echo.enqueueMany(
      client,
      Array.from({ length: 1_000 }, (_, n) => n),
    );
    proxy.arm({ only: asks });
    const begun = performance.now();
    const results = Promise.all(jobs.map((job) => job.result()));
    await testWorker(database, [echo], { concurrency: 50 });
    expect(await results).toEqual(jobs.map((_, n) => n));
    const seconds = (performance.now() - begun) / 1_000;
    // One look per second and bucket, and those that notifications ask for, which are at least 20 ms apart.
    const { rows } = await database.query(
      "select value::int as count from cyclone_settings where name = 'bucket_count'",
    );
    expect(proxy.points.length / Number(rows[0]?.["count"])).toBeLessThan(10 + seconds * 51);
    expect(proxy.points.length).toBeLessThan(500);
  });

  it("cost one query a poll interval while nothing happens, a thousand as one", async () => {
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { pollInterval: "200ms", listen: false });
    const jobs = await echo.enqueueMany(
      client,
      Array.from({ length: 1_000 }, () => 1),
      { delay: "1h" },
    );
    const controls = jobs.map(() => new AbortController());
    const waiting = jobs.map((job, i) => job.wait({ signal: controls[i]!.signal }).catch(() => "aborted"));
    proxy.arm({ only: asks });
    await eventually(() => expect(proxy.points.length).toBeGreaterThan(1));
    const [from, count] = [performance.now(), proxy.points.length];
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const { rows } = await database.query(
      "select value::int as count from cyclone_settings where name = 'bucket_count'",
    );
    const polls = (performance.now() - from) / 200;
    expect(proxy.points.length - count).toBeLessThanOrEqual((polls + 1) * Number(rows[0]?.["count"]));
    for (const control of controls) control.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["aborted"]));
    // Nobody waits any more: nothing is asked any more.
    const after = proxy.points.length;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(proxy.points.length - after).toBeLessThanOrEqual(Number(rows[0]?.["count"]));
  });

  it("are told before, during and after the end, of one and the same run", async () => {
    const client = testClient(database);
    const job = await echo.enqueue(client, 5);
    const early = [job.result(), job.wait(), job.result()];
    await testWorker(database, [echo]);
    expect((await Promise.all(early)).map((value) => (typeof value === "object" ? value.state : value))).toEqual([
      5,
      "completed",
      5,
    ]);
    expect(await job.result()).toBe(5);
    expect((await job.wait()).state).toBe("completed");
  });

  it("hear at once of runs that another process ends", async () => {
    const client = testClient(database, { pollInterval: "10m" });
    const warm = await echo.enqueue(client, 0);
    await testWorker(database, [echo]);
    expect(await warm.result()).toBe(0);
    // Only a notification can tell within the test's time.
    for (let n = 1; n < 5; n++) expect(await (await echo.enqueue(client, n)).result()).toBe(n);
  });

  it("find out by polling where nothing is listened to", async () => {
    const client = testClient(database, { listen: false, pollInterval: "60ms" });
    await testWorker(database, [echo], { listen: false });
    expect(await (await echo.enqueue(client, 3)).result()).toBe(3);
  });

  it("are told while listening connections are killed at random", async () => {
    const client = testClient(database, { pollInterval: "300ms" });
    await testWorker(database, [echo]);
    const killing = new AbortController();
    const killer = (async () => {
      while (!killing.signal.aborted) {
        await database.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'cyclone listen'",
        );
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
    })();
    const jobs = await Promise.all(Array.from({ length: 30 }, (_, n) => echo.enqueue(client, n)));
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map((_, n) => n));
    killing.abort();
    await killer;
  });

  it("of failed, unknown and completed runs are answered each with its own", async () => {
    const mixed = defineStep("mixed", async (_ctx, n: number) => {
      if (n % 2 === 0) throw new Discard(`even ${n}`);
      return n;
    });
    const client = await testWorker(database, [mixed]);
    const jobs = await mixed.enqueueMany(client, [1, 2, 3, 4]);
    const unknown = client.run("01890000-0000-7000-8000-000000000001");
    const ends = await Promise.allSettled([...jobs, unknown].map((run) => run.result()));
    expect(ends).toEqual([
      { status: "fulfilled", value: 1 },
      {
        status: "rejected",
        reason: expect.objectContaining({ state: "failed", error: expect.objectContaining({ message: "even 2" }) }),
      },
      { status: "fulfilled", value: 3 },
      {
        status: "rejected",
        reason: expect.objectContaining({ state: "failed", error: expect.objectContaining({ message: "even 4" }) }),
      },
      { status: "rejected", reason: expect.objectContaining({ code: "CYCLONE_RUN_NOT_FOUND" }) },
    ]);
    expect(await stepRow(database, jobs[0]?.id ?? "")).toMatchObject({ state: "completed" });
  });
});
