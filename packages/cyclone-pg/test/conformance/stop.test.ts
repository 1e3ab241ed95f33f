import pg from "pg";
import { describe, expect, it } from "vitest";
import { type Client, defineStep } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const running = async (...ids: string[]): Promise<void> => {
  await eventually(async () => {
    for (const id of ids) expect((await stepRow(database, id)).state).toBe("running");
  });
};
const sessions = async (): Promise<string[]> => {
  const { rows } = await database.query<{ application_name: string }>(
    "select application_name from pg_stat_activity where datname = current_database() and application_name like 'cyclone%' and application_name <> 'cyclone-test'",
  );
  return rows.map((row) => row.application_name);
};

describe("stop()", () => {
  it("claims no more, waits for the handlers that run, and commits their completions", async () => {
    const gate = latch();
    const held = defineStep("held", async () => {
      await gate.opened;
      return "done";
    });
    const producer = testClient(database);
    const client = await testWorker(database, [held], { concurrency: 2 });
    const jobs = await held.enqueueMany(
      producer,
      Array.from({ length: 5 }, () => undefined),
    );
    await eventually(async () => {
      const states = await Promise.all(jobs.map(async (job) => (await stepRow(database, job.id)).state));
      expect(states.filter((state) => state === "running")).toHaveLength(2);
    });
    const claimed = eventsOf(client, "step.claimed");
    let stopped = false;
    const stopping = client.stop().then(() => {
      stopped = true;
    });
    const late = await held.enqueue(producer);
    await running(...(await runningIds(jobs.map((job) => job.id))));
    expect(stopped).toBe(false);
    gate.open();
    await stopping;
    const rows = await Promise.all([...jobs, late].map((job) => stepRow(database, job.id)));
    expect(rows.filter((row) => row.state === "completed")).toHaveLength(2);
    expect(rows.filter((row) => row.state === "available")).toHaveLength(4);
    expect(claimed).toEqual([]);
  });

  it("fires the signal of handlers that outlast its timeout, and gives their steps back without a charge", async () => {
    const reasons: unknown[] = [];
    const obedient = defineStep("obedient", { maxAttempts: 1 }, async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      reasons.push(ctx.signal.reason);
      throw ctx.signal.reason;
    });
    const deaf = defineStep("deaf", { maxAttempts: 1 }, async (ctx) => {
      if (ctx.reclaims === 0) await new Promise((resolve) => setTimeout(resolve, 3_000));
      return ctx.attempt;
    });
    const producer = testClient(database);
    const client = await testWorker(database, [obedient, deaf]);
    const stuck = eventsOf(client, "worker.stuck");
    const [a, b] = [await obedient.enqueue(producer), await deaf.enqueue(producer)];
    await running(a.id, b.id);
    await client.stop({ timeout: "50ms" });
    expect(reasons).toEqual([expect.objectContaining({ code: "CYCLONE_SHUTDOWN" })]);
    expect(stuck.map(({ node }) => node)).toEqual(["deaf"]);
    for (const job of [a, b]) {
      expect(await stepRow(database, job.id)).toMatchObject({
        state: "available",
        attempts: 0,
        reclaims: 0,
        lease_owner: null,
      });
      expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["released"]);
    }
  });

  it("lets a handler that hears the signal still return: then its step is completed", async () => {
    const tidy = defineStep("tidy", async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      return "tidied up";
    });
    const client = await testWorker(database, [tidy]);
    const job = await tidy.enqueue(testClient(database));
    await running(job.id);
    await client.stop({ timeout: 0 });
    expect(await job.output()).toBe("tidied up");
  });

  it("undoes the completionTx of a handler that outlasts it, whose queries throw the signal's reason", async () => {
    await database.query("create table effects (name text)");
    const [written, seen] = [latch(), latch<unknown[]>()];
    const writes = defineStep("writes", async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into effects values ('undone')");
      written.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      const thrown = async (work: Promise<unknown>): Promise<unknown> =>
        work.then(
          () => "nothing",
          (error: unknown) => error,
        );
      seen.open([await thrown(tx.query("select 1")), await thrown(ctx.completionTx())]);
      throw ctx.signal.reason;
    });
    const client = await testWorker(database, [writes]);
    const job = await writes.enqueue(testClient(database));
    await written.opened;
    await client.stop({ timeout: 0 });
    expect(await seen.opened).toEqual([
      expect.objectContaining({ code: "CYCLONE_SHUTDOWN" }),
      expect.objectContaining({ code: "CYCLONE_SHUTDOWN" }),
    ]);
    expect((await database.query("select * from effects")).rows).toEqual([]);
    expect((await stepRow(database, job.id)).state).toBe("available");
  });

  it("renews leases while it waits", async () => {
    const gate = latch();
    const held = defineStep("held-long", async () => gate.opened);
    const client = await testWorker(database, [held], { leaseTtl: "1500ms" });
    const job = await held.enqueue(testClient(database));
    await running(job.id);
    const stopping = client.stop({ timeout: "1m" });
    const { lease_expiry } = await stepRow(database, job.id);
    await eventually(async () => {
      expect(Number((await stepRow(database, job.id)).lease_expiry)).toBeGreaterThan(Number(lease_expiry) + 1_500);
    });
    gate.open();
    await stopping;
    expect(await stepRow(database, job.id)).toMatchObject({ state: "completed", lease_epoch: 1 });
  });

  it("again, or at the same time, is the same stop", async () => {
    const client = await testWorker(database, [defineStep("nothing", async () => {})]);
    await Promise.all([client.stop(), client.stop({ timeout: 1 }), client.stop()]);
    await client.stop();
    await client[Symbol.asyncDispose]();
  });

  it("with an option that can't be used refuses, and can be called again", async () => {
    const client = await testWorker(database, [defineStep("unused", async () => {})]);
    for (const options of [{ time: 5 }, { timeout: "soon" }, { timeout: -1 }]) {
      await expect(client.stop(options as object)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    }
    await client.stop();
    await eventually(async () => expect(await sessions()).toEqual([]));
  });

  it("of a client that was never started, or never used, is fine", async () => {
    await testClient(database).stop();
    const producer = testClient(database);
    await defineStep("one", async () => {}).enqueue(producer);
    await producer.stop();
  });

  it("leaves no connection and no open handle", async () => {
    const work = defineStep("work", async (ctx) => void (await (await ctx.completionTx()).query("select 1")));
    const kinds = (): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
      return counts;
    };
    await database.pool.query("select 1");
    const before = kinds();
    const client = await testWorker(database, [work]);
    const jobs = await work.enqueueMany(
      client,
      Array.from({ length: 20 }, () => undefined),
    );
    await Promise.all(jobs.map((job) => job.result()));
    expect((await sessions()).length).toBeGreaterThan(4);
    await client.stop();
    await eventually(async () => expect(await sessions()).toEqual([]));
    await eventually(() => {
      const after = kinds();
      for (const kind of ["TCPSocketWrap", "TCPWRAP", "MessagePort", "Worker"])
        expect(after[kind] ?? 0, kind).toBeLessThanOrEqual(before[kind] ?? 0);
    });
  });

  it("ends those who wait for a run", async () => {
    const client = testClient(database);
    const run = await defineStep("never", async () => {}).enqueue(client, undefined, { delay: "1h" });
    const waiting = [run.result(), run.wait()].map((wait) => wait.catch((error: unknown) => error));
    await client.stop();
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: "CYCLONE_CLIENT_STOPPED" });
  });

  it("leaves a user's Pool open, with its own settings, and takes from it no more than it has", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 3, application_name: "users-own" });
    try {
      const work = defineStep("over-a-pool", async (ctx) => void (await (await ctx.completionTx()).query("select 1")));
      const client = testClient(database, { connection: pool, handlers: [work] });
      await client.start();
      const jobs = await work.enqueueMany(
        client,
        Array.from({ length: 10 }, () => undefined),
      );
      await Promise.all(jobs.map((job) => job.result()));
      await client.stop();
      expect(pool.ended).toBe(false);
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      expect([pool.options.max, pool.totalCount <= 3, pool.waitingCount]).toEqual([3, true, 0]);
      expect(pool.listenerCount("error")).toBeLessThanOrEqual(1);
    } finally {
      await pool.end();
    }
  });
});

describe("a client that was stopped", () => {
  const stopped = { code: "CYCLONE_CLIENT_STOPPED" };
  const step = defineStep("after-stop", async () => {});

  it("can't be started again, submit, drain or migrate", async () => {
    const client = await testWorker(database, [step]);
    await client.stop();
    await expect(client.start()).rejects.toMatchObject(stopped);
    await expect(client.drain()).rejects.toMatchObject(stopped);
    await expect(client.migrate()).rejects.toMatchObject(stopped);
    await expect(step.enqueue(client)).rejects.toMatchObject(stopped);
    await expect(step.enqueueMany(client, [undefined])).rejects.toMatchObject(stopped);
    await expect(client.run("01890000-0000-7000-8000-000000000000").wait()).rejects.toMatchObject(stopped);
    await expect(client.run("01890000-0000-7000-8000-000000000000").state()).rejects.toMatchObject(stopped);
  });

  it("before its start had ended rejects that start, and nothing of it is left", async () => {
    const overtake = async (client: Client, wait: () => Promise<unknown>): Promise<void> => {
      const starting = client.start();
      const outcome = starting.then(
        () => "started",
        (error: unknown) => error,
      );
      await wait();
      await client.stop({ timeout: 0 });
      expect(await outcome).toMatchObject(stopped);
    };
    await overtake(testClient(database, { handlers: [step] }), async () => {});
    await overtake(
      testClient(database, { handlers: [step] }),
      async () => new Promise((resolve) => setImmediate(resolve)),
    );
    // Nobody answers there: start() waits for the database, and stop() ends that.
    const nowhere = testClient({ url: "postgres://postgres@127.0.0.1:1/none" }, { handlers: [step] });
    await overtake(nowhere, async () => new Promise((resolve) => setTimeout(resolve, 300)));
    await eventually(async () => expect(await sessions()).toEqual([]));
  });
});

describe("start()", () => {
  it("twice is one start", async () => {
    const step = defineStep("started-twice", async () => {});
    const client = testClient(database, { handlers: [step] });
    await Promise.all([client.start(), client.start()]);
    await client.start();
    await (await step.enqueue(client)).result();
    expect((await sessions()).filter((name) => name === "cyclone claim")).toHaveLength(1);
  });
});

async function runningIds(ids: string[]): Promise<string[]> {
  const rows = await Promise.all(ids.map((id) => stepRow(database, id)));
  return rows.filter((row) => row.state === "running").map((row) => row.run_id);
}
