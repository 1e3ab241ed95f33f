import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineStep, type Step } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { type Latch, latch } from "../support/latch.ts";
import { useOwnServer } from "../support/own-server.ts";
import { eventsOf, recordingLog, testClient, testWorker } from "../support/test-client.ts";

const server = useOwnServer({ max_connections: "40" });

const add = defineStep("add", (_ctx, n: number) => n + 1);

/** A setting of the whole server, for the sessions that are open as well; undone after the test. */
async function set(name: string, value: string): Promise<void> {
  onTestFinished(async () => {
    await reset(name);
  });
  await server.query(`alter system set ${name} = ${value}`);
  await server.query("select pg_reload_conf()");
}
async function reset(name: string): Promise<void> {
  await server.query(`alter system reset ${name}`);
  await server.query("select pg_reload_conf()");
}
const shown = async (name: string): Promise<unknown> => (await server.query(`show ${name}`))[0]?.[name];

const rowOf = async (runId: string): Promise<unknown> =>
  (
    await server.query(
      "select state::text as state, attempts, reclaims, lease_epoch from cyclone_steps where run_id = $1",
      [runId],
    )
  )[0];

interface Held {
  readonly step: Step<void, string>;
  readonly gate: Latch;
  readonly entered: Latch;
  calls: number;
}

function held(name: string): Held {
  const state = { gate: latch(), entered: latch(), calls: 0 };
  const step = defineStep(name, async () => {
    state.calls += 1;
    state.entered.open();
    await state.gate.opened;
    return "recorded";
  });
  return Object.assign(state, { step });
}

describe("R16: a server that becomes read-only under open connections, and writable again", () => {
  it("loses no step and charges nothing: what ended meanwhile is recorded within seconds", async () => {
    const slow = held("held-read-only");
    const worker = await testWorker(server, [slow.step, add], { leaseTtl: "10s" });
    const errors = eventsOf(worker, "error");
    const job = await slow.step.enqueue(worker);
    await slow.entered.opened;
    await set("default_transaction_read_only", "on");
    await eventually(async () => expect(await shown("default_transaction_read_only")).toBe("on"));
    slow.gate.open();
    await eventually(() => expect(add.enqueue(worker, 1)).rejects.toMatchObject({ cause: { code: "25006" } }));
    expect(await rowOf(job.id)).toMatchObject({ state: "running" });
    await reset("default_transaction_read_only");
    const writable = performance.now();
    expect(await job.result()).toBe("recorded");
    const next = await eventually(() => add.enqueue(worker, 1));
    expect(await next.result()).toBe(2);
    expect(performance.now() - writable).toBeLessThan(8_000);
    expect(await rowOf(job.id)).toEqual({ state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(slow.calls).toBe(1);
    expect(errors).toEqual([]);
  });
});

describe("R14: a server that ends idle sessions after a second (idle_session_timeout), all the time", () => {
  it("costs nothing: no reclaim, no charge, and work that comes later starts at once", async () => {
    await set("idle_session_timeout", "'1s'");
    const slow = held("held-idle");
    // A poll that leaves every connection idle for longer than that.
    const worker = await testWorker(server, [slow.step, add], { pollInterval: "10s", leaseTtl: "6s" });
    const degraded = eventsOf(worker, "worker.degraded");
    const job = await slow.step.enqueue(worker);
    await slow.entered.opened;
    const engine = "select 1 from pg_stat_activity where application_name in ('cyclone claim', 'cyclone record')";
    await eventually(async () => expect(await server.query(engine)).toEqual([]));
    const began = performance.now();
    const next = await add.enqueue(worker, 1);
    expect(await next.result()).toBe(2);
    expect(performance.now() - began).toBeLessThan(5_000);
    slow.gate.open();
    expect(await job.result()).toBe("recorded");
    expect(await rowOf(job.id)).toEqual({ state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1 });
    expect(degraded.length).toBeLessThanOrEqual(5);
  });
});

describe("a role with few connections or little patience", () => {
  /** A role of the test's own, with the rights of a worker; clients log in as it. */
  async function role(name: string, options: string): Promise<{ url: string }> {
    await server.query(`create role ${name} login ${options}`);
    await server.query(`grant usage on schema public to ${name}`);
    await server.query(`grant select, insert, update, delete on all tables in schema public to ${name}`);
    const url = new URL(server.url);
    url.username = name;
    return { url: url.href };
  }

  it("at its connection limit (53300) works on with the connections that it has, waits for others, and never exits", async () => {
    const limited = await role("crowded", "connection limit 5");
    const pay = defineStep("pay-crowded", async (ctx) => {
      await (await ctx.completionTx()).query("select 1");
      return "paid";
    });
    const worker = testClient(limited, { handlers: [add, pay], leaseTtl: "2s", listen: false });
    await worker.start();
    const first = await add.enqueue(worker, 1);
    expect(await first.result()).toBe(2);
    // Renewing, claiming, recording and this client's reads leave too few for five transactions at a time.
    const jobs = await pay.enqueueMany(worker, Array.from({ length: 5 }));
    await eventually(async () => {
      const rows = await server.query(
        "select 1 from cyclone_steps where step = 'pay-crowded' and error->>'code' = 'CYCLONE_CONNECTION' and error->>'message' like '%too many connections%'",
      );
      expect(rows.length).toBeGreaterThan(0);
    });
    expect(await (await add.enqueue(worker, 2)).result()).toBe(3);
    await server.query("alter role crowded connection limit 20");
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map(() => "paid"));
    const rows = await server.query("select distinct attempts from cyclone_steps where step = 'pay-crowded'");
    expect(rows).toEqual([{ attempts: 1 }]);
    await worker.stop();
  });

  it("that may not log in for a while, as when a password is changed: outcomes are recorded afterwards, and nothing is charged", async () => {
    const rotated = await role("rotated", "");
    const [plain, gate, entered] = [held("held-rotated"), latch(), latch()];
    const pay = defineStep("pay-rotated", { maxAttempts: 1 }, async (ctx) => {
      entered.open();
      await gate.opened;
      await ctx.completionTx();
      return "paid";
    });
    const { log, lines } = recordingLog();
    const worker = testClient(rotated, { handlers: [plain.step, pay], leaseTtl: "10s", log, listen: false });
    await worker.start();
    const jobs = [await plain.step.enqueue(worker), await pay.enqueue(worker)];
    await Promise.all([plain.entered.opened, entered.opened]);
    await server.query("alter role rotated nologin");
    await server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotated'");
    plain.gate.open();
    gate.open();
    await eventually(() => expect(lines.map((line) => line.fields?.["code"])).toContain("28000"));
    await server.query("alter role rotated login");
    for (const job of jobs) {
      await eventually(
        async () => expect(await rowOf(job.id)).toMatchObject({ state: "completed", attempts: 1 }),
        30_000,
      );
    }
    await worker.stop();
  });

  it("at its connection limit from the first: a start waits, and a stop ends that wait", async () => {
    const limited = await role("starved", "connection limit 1");
    const worker = testClient(limited, { handlers: [add], listen: false });
    const start = worker.start().catch((error: unknown) => error);
    // What reads the installation has the one connection; leases can't be renewed without another.
    await eventually(async () => {
      const rows = await server.query("select 1 from pg_stat_activity where usename = 'starved'");
      expect(rows).toHaveLength(1);
    });
    await worker.stop({ timeout: 0 });
    expect(await start).toMatchObject({ code: "CYCLONE_CLIENT_STOPPED" });
  });

  it("with a statement_timeout: a completion that another session's lock delays is tried again, and its handler isn't called again", async () => {
    const impatient = await role("impatient", "");
    await server.query("alter role impatient set statement_timeout = '300ms'");
    const slow = held("held-impatient");
    const { log, lines } = recordingLog();
    const worker = testClient(impatient, { handlers: [slow.step], leaseTtl: "10s", log });
    await worker.start();
    const job = await slow.step.enqueue(worker);
    await slow.entered.opened;
    const release = await lockRow(job.id);
    slow.gate.open();
    await eventually(() => expect(lines.map((line) => line.fields?.["code"])).toContain("57014"));
    expect(await rowOf(job.id)).toMatchObject({ state: "running" });
    await release();
    expect(await job.result()).toBe("recorded");
    expect(slow.calls).toBe(1);
    expect(await rowOf(job.id)).toEqual({ state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1 });
    await worker.stop();
  });
});

/** Holds the row of a step until the returned function is called. */
async function lockRow(runId: string): Promise<() => Promise<void>> {
  const session = new Client({ connectionString: server.url });
  session.on("error", () => {});
  await session.connect();
  onTestFinished(() => session.end());
  await session.query("begin");
  await session.query("select 1 from cyclone_steps where run_id = $1 for update", [runId]);
  return async () => {
    await session.query("rollback");
  };
}
