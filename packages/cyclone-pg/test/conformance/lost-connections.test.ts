import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { startCrashProxy } from "../support/crash-proxy.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const says = (name: string) => (text: string) => text.includes(`cyclone:${name}`);

describe("a lost reply", () => {
  it("to a submit, keyed or not, makes no second run", async () => {
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url });
    for (const side of ["before", "after"] as const) {
      const plain = proxy.arm({ point: 1, side, only: says("submit_runs") });
      const job = await add.enqueue(client, 1, { tags: [`plain-${side}`] });
      expect(plain.fired).toBe(true);
      expect(job.existing).toBe(false);
      const keyed = proxy.arm({ point: 1, side, only: says("submit_keyed_runs") });
      const twin = await add.enqueue(client, 1, { tags: [`keyed-${side}`], idempotencyKey: side });
      expect(keyed.fired).toBe(true);
      expect(twin.existing).toBe(false);
      proxy.disarm();
      const { rows } = await database.query("select id from cyclone_runs where tags && $1::text[] order by id", [
        [`plain-${side}`, `keyed-${side}`],
      ]);
      expect(new Set(rows.map((row) => String(row["id"])))).toEqual(new Set([job.id, twin.id]));
      expect(rows).toHaveLength(2);
    }
    await client.stop();
  });

  it("to a completion completes the step once, and it isn't called again", async () => {
    let calls = 0;
    const counted = defineStep("counted", async (_ctx, n: number) => {
      calls += 1;
      return n;
    });
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { handlers: [counted] });
    await client.start();
    const [lost, completed] = [eventsOf(client, "lease.lost"), eventsOf(client, "step.completed")];
    for (const [i, side] of (["before", "after"] as const).entries()) {
      const armed = proxy.arm({ point: 1, side, only: says("complete_steps") });
      const job = await counted.enqueue(client, i);
      expect(await job.result()).toBe(i);
      expect(armed.fired).toBe(true);
      expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    }
    expect(calls).toBe(2);
    await eventually(() => expect(completed).toHaveLength(2));
    expect(lost).toEqual([]);
    await client.stop();
  });

  it("to the COMMIT of a completionTx is looked up: what was committed counts, what wasn't is done again", async () => {
    await database.query("create table effects (run_id uuid, call int)");
    let calls = 0;
    const effect = defineStep("effect", async (ctx) => {
      calls += 1;
      await (await ctx.completionTx()).query("insert into effects values ($1, $2)", [ctx.runId, calls]);
      return calls;
    });
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { handlers: [effect] });
    await client.start();
    const commits = (text: string, connection: { applicationName: string }) =>
      /^\s*commit/i.test(text) && connection.applicationName === "cyclone completionTx";
    const after = proxy.arm({ point: 1, side: "after", only: commits });
    const committed = await effect.enqueue(client);
    expect(await committed.result()).toBe(1);
    expect(after.fired).toBe(true);
    expect(await stepRow(database, committed.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });

    const before = proxy.arm({ point: 1, side: "before", only: commits });
    const undone = await effect.enqueue(client);
    expect(await undone.result()).toBe(3);
    expect(before.fired).toBe(true);
    expect(await stepRow(database, undone.id)).toMatchObject({ attempts: 1, reclaims: 1 });
    expect((await attemptRows(database, undone.id)).map(({ outcome }) => outcome)).toEqual(["interrupted"]);
    const { rows } = await database.query("select call from effects order by call");
    expect(rows).toEqual([{ call: 1 }, { call: 3 }]);
    await client.stop();
  });
});

describe("a database that is away for longer than the leases", () => {
  it("costs no live handler its step: nobody reclaims until each owner has had time to renew", {
    timeout: 60_000,
  }, async () => {
    const gate = latch();
    let calls = 0;
    const held = defineStep("held", async (_ctx, n: number) => {
      calls += 1;
      await gate.opened;
      return n;
    });
    await using proxy = await startCrashProxy({ target: database.url });
    const options = { handlers: [held], leaseTtl: "2s", concurrency: 5 } as const;
    const workers = [1, 2].map(() => testClient({ url: proxy.url }, options));
    await Promise.all(workers.map((worker) => worker.start()));
    const reclaimed = workers.map((worker) => eventsOf(worker, "step.reclaimed"));
    const lost = workers.map((worker) => eventsOf(worker, "lease.lost"));
    const jobs = await held.enqueueMany(testClient(database), [0, 1, 2, 3, 4, 5]);
    await eventually(() => expect(calls).toBe(6));
    proxy.network.refuse();
    proxy.network.reset();
    await eventually(async () => {
      const { rows } = await database.query(
        "select count(*)::int as expired from cyclone_steps where step = 'held' and lease_expiry < statement_timestamp() - interval '2 seconds'",
      );
      expect(rows).toEqual([{ expired: 6 }]);
    });
    proxy.network.heal();
    // All leases are held again, by the first claims.
    await eventually(async () => {
      const { rows } = await database.query(
        "select count(*)::int as held from cyclone_steps where step = 'held' and lease_expiry > statement_timestamp() and lease_epoch = 1",
      );
      expect(rows).toEqual([{ held: 6 }]);
    }, 40_000);
    gate.open();
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(calls).toBe(6);
    expect([...reclaimed, ...lost].flat()).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it("loses no outcome of handlers that end meanwhile", { timeout: 90_000 }, async () => {
    const gate = latch();
    let calls = 0;
    const held = defineStep("ends-meanwhile", { backoff: 1 }, async (ctx, n: number) => {
      calls += 1;
      if (calls <= 5) await gate.opened;
      if (n === 0 && ctx.attempt === 1) throw new Error("failed meanwhile");
      return n;
    });
    await using proxy = await startCrashProxy({ target: database.url });
    const client = testClient({ url: proxy.url }, { handlers: [held] });
    await client.start();
    const jobs = await held.enqueueMany(testClient(database), [0, 1, 2, 3, 4]);
    await eventually(() => expect(calls).toBe(5));
    proxy.network.refuse();
    proxy.network.reset();
    gate.open();
    await new Promise((resolve) => setTimeout(resolve, 500));
    proxy.network.heal();
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([0, 1, 2, 3, 4]);
    expect(calls).toBe(6);
    await client.stop();
  });
});

describe("a worker that has just connected", () => {
  it("reclaims only after a third of a lease, though leases have long run out", async () => {
    const work = defineStep("waits-for-guard", async () => {});
    const job = await work.enqueue(testClient(database));
    await database.query(
      `update cyclone_steps set state = 'running', lease_epoch = 1, lease_owner = gen_random_uuid(), started_at = statement_timestamp(),
         lease_expiry = statement_timestamp() - interval '1 hour' where run_id = $1`,
      [job.id],
    );
    const begun = performance.now();
    const client = await testWorker(database, [work], { leaseTtl: "3s" });
    const at = new Promise<number>((resolve) => client.on("step.reclaimed", () => resolve(performance.now())));
    expect((await at) - begun).toBeGreaterThanOrEqual(1_000);
    await job.result();
  });
});

describe("a worker that was silent for more than half a lease, so that an outage could have gone unseen", () => {
  it("waits again before it reclaims", async () => {
    const work = defineStep("waits-after-silence", async () => {});
    const job = await work.enqueue(testClient(database), undefined, { delay: "1h" });
    const client = await testWorker(database, [work], { leaseTtl: "3s", pollInterval: "2s", listen: false });
    const lastLook = async (): Promise<{ at: number; agoMs: number }> => {
      const { rows } = await database.query(
        `select query_start as at, (extract(epoch from clock_timestamp() - query_start) * 1000)::float8 as ago from pg_stat_activity
         where datname = current_database() and application_name = 'cyclone claim' and query like '%cyclone:look%'`,
      );
      return { at: Number(rows[0]?.["at"] ?? 0), agoMs: Number(rows[0]?.["ago"] ?? 0) };
    };
    // A round looks at each bucket; the second is over when nothing has been looked at for a while.
    const first = await eventually(async () => {
      const { at } = await lastLook();
      expect(at).toBeGreaterThan(0);
      return at;
    });
    await eventually(async () => {
      const { at, agoMs } = await lastLook();
      expect(at).toBeGreaterThan(first + 1_500);
      expect(agoMs).toBeGreaterThan(300);
    });
    await database.query(
      `update cyclone_steps set state = 'running', lease_epoch = 1, lease_owner = gen_random_uuid(), started_at = statement_timestamp(),
         lease_expiry = statement_timestamp() - interval '1 hour' where run_id = $1`,
      [job.id],
    );
    const planted = performance.now();
    await new Promise<void>((resolve) => client.on("step.reclaimed", () => resolve()));
    // The next look comes 1.7 seconds later or more, and the time to wait is 1.6.
    expect(performance.now() - planted).toBeGreaterThan(2_600);
    await job.result();
  });
});

describe("connections that break at any moment", () => {
  it("end no process and lose no run", { timeout: 60_000 }, async () => {
    const effect = defineStep(
      "in-the-storm",
      { maxAttempts: 1, maxReclaims: Number.POSITIVE_INFINITY },
      async (ctx, n: number) => {
        await (await ctx.completionTx()).query("select 1");
        return n;
      },
    );
    const client = await testWorker(database, [add, effect], { leaseTtl: "3s" });
    const workflow = defineWorkflow("storm", (b, n: number) => add.do(b, effect.do(b, add.do(b, n))));
    const runs = await workflow.submitMany(
      testClient(database),
      Array.from({ length: 30 }, (_, n) => n),
    );
    const killing = new AbortController();
    const killer = (async () => {
      while (!killing.signal.aborted) {
        await database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name in ('cyclone claim', 'cyclone record', 'cyclone completionTx', 'cyclone renewal', 'cyclone listen')
           and random() < 0.5`,
        );
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    killing.abort();
    await killer;
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map((_, n) => n + 2));
    await client.stop();
  });
});
