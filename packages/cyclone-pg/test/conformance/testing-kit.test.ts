import { AssertionError } from "node:assert";
import { Client } from "pg";
import { describe, expect, expectTypeOf, inject, it } from "vitest";
import { defineAction, defineStep, defineWorkflow, Snooze } from "../../src/index.ts";
import { createTestDatabase, createTestTemplate, dropTestTemplate } from "../../src/testing.ts";
import { stepRow } from "../support/engine-rows.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const HOUR = 3_600_000;
const add = defineStep("add", async (_ctx, n: number) => n + 1);
const mail = defineAction("mail", async (_ctx, _input: { to: string; lines: string[] }) => {});

/** The times that the tables hold of a run, in milliseconds. */
async function timesOf(runId: string): Promise<Record<string, number>> {
  const { rows } = await database.query(
    `select s.available_at, s.lease_expiry, s.started_at, r.created_at, r.deadline
     from cyclone_steps s join cyclone_runs r on r.bucket = s.bucket and r.id = s.run_id where r.id = $1`,
    [runId],
  );
  return Object.fromEntries(Object.entries(rows[0] as Record<string, Date>).map(([name, at]) => [name, Number(at)]));
}

describe("a test database", () => {
  it("is a clone of a template with Cyclone's tables and the application's, and is dropped whoever is connected", async () => {
    const { adminUrl } = inject("postgres");
    let prepared: Client | undefined;
    const template = await createTestTemplate({
      server: adminUrl,
      schema: "jobs",
      bucketCount: 2,
      prepare: async (url) => {
        prepared = new Client({ connectionString: url });
        prepared.on("error", () => undefined);
        await prepared.connect(); // and left open: the template cuts it off
        await prepared.query("create table orders (id int)");
      },
    });
    const names: string[] = [];
    try {
      for (const n of [1, 2]) {
        await using clone = await createTestDatabase(template);
        names.push(clone.name);
        const client = testClient(clone, { schema: "jobs", handlers: [add] });
        const job = await add.enqueue(client, n);
        await clone.drain(client);
        expect(await clone.enqueued(add)).toMatchObject([{ id: job.id, input: n, state: "completed" }]);
        expect((await clone.query("select count(*)::int as count from orders")).rows).toEqual([{ count: 0 }]);
        await client.stop();
      }
    } finally {
      await dropTestTemplate(template);
    }
    const { rows } = await database.query("select datname from pg_database where datname = any($1)", [
      [template.name, ...names],
    ]);
    expect(rows).toEqual([]);
  });

  it("leaves nothing of a template whose preparation fails", async () => {
    const before = await templates();
    const failing = createTestTemplate({
      server: inject("postgres").adminUrl,
      prepare: () => {
        throw new Error("no such migration");
      },
    });
    await expect(failing).rejects.toThrow("no such migration");
    expect(await templates()).toEqual(before);
    await expect(createTestTemplate({ servr: "postgres://x" } as never)).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
    });
  });
});

async function templates(): Promise<unknown[]> {
  const { rows } = await database.query(
    "select datname from pg_database where datname like 'cyclone\\_template\\_' || $1 || '\\_%'",
    [process.pid],
  );
  return rows;
}

describe("advance()", () => {
  it("makes what waits for a time available once its time has come, and wakes workers", async () => {
    const client = await testWorker(database, [add], { pollInterval: "1h" });
    const job = await add.enqueue(client, 1, { delay: "2h" });
    await database.kit.advance("119m");
    expect((await stepRow(database, job.id)).state).toBe("scheduled");
    await database.kit.advance("1m");
    expect(await job.result()).toBe(2);
  });

  it("moves scheduled and waiting nodes and the deadlines of running runs, and nothing else", async () => {
    const gate = latch();
    const held = defineStep("held", async () => gate.opened);
    const client = await testWorker(database, [held]);
    const [running, scheduled, waiting] = [
      await held.enqueue(client),
      await add.enqueue(client, 1, { delay: "5h" }),
      await add.enqueue(client, 1),
    ];
    await database.kit.waitForNode(running, "held", "running");
    await database.query("update cyclone_steps set state = 'waiting' where run_id = $1", [waiting.id]);
    await database.query("update cyclone_runs set deadline = created_at + interval '1 day' where id = any($1)", [
      [running.id, scheduled.id],
    ]);
    const ids = [running.id, scheduled.id, waiting.id];
    const before = await Promise.all(ids.map(timesOf));
    await database.kit.advance("1h");
    const after = await Promise.all(ids.map(timesOf));
    // Renewals move a lease on; the advance doesn't move it back.
    expect(after[0]?.["lease_expiry"]).toBeGreaterThanOrEqual(before[0]?.["lease_expiry"] ?? Number.NaN);
    const moved = (i: number, names: string[]) =>
      Object.fromEntries(
        Object.entries(before[i] ?? {}).map(([name, at]) => [name, names.includes(name) ? at - HOUR : at]),
      );
    expect({ ...after[0], lease_expiry: 0 }).toEqual({ ...moved(0, ["deadline"]), lease_expiry: 0 });
    expect(after[1]).toEqual(moved(1, ["available_at", "deadline"]));
    expect(after[2]).toEqual(moved(2, ["available_at"]));
    await database.query("update cyclone_steps set state = 'available' where run_id = $1", [waiting.id]);
    gate.open();
    await running.result();
  });

  it("lets a deadline pass, which a worker then finds", async () => {
    const client = await testWorker(database, [add]);
    const run = await add.enqueue(client, 1, { delay: "1d", deadline: "3h" });
    await database.kit.advance("3h");
    expect(await run.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_DEADLINE" } });
  });

  it("takes a duration", async () => {
    await expect(database.kit.advance("an hour" as never)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
  });
});

describe("drain()", () => {
  it("of several clients goes on until none of them has work: what one completes is the other's", async () => {
    const double = defineStep("double", async (_ctx, n: number) => n * 2);
    const relay = defineWorkflow("relay", (b, n: number) => double.do(b, add.do(b, double.do(b, add.do(b, n)))));
    const clients = [testClient(database, { handlers: [add] }), testClient(database, { handlers: [double] })];
    const run = await relay.submit(testClient(database), 1);
    await database.kit.drain(clients);
    expect(await run.output()).toBe(10);
  });

  it("leaves what waits for a time, unless it is told to advance to it, in the order of time", async () => {
    const seen: string[] = [];
    const flaky = defineStep("flaky", { backoff: "7d" }, async (ctx, name: string) => {
      seen.push(`${name} ${ctx.attempt}`);
      if (ctx.attempt < 3) throw new Error("again");
    });
    const client = testClient(database, { handlers: [flaky] });
    const jobs = [await flaky.enqueue(client, "now"), await flaky.enqueue(client, "later", { delay: "8d" })];
    await database.kit.drain(client);
    expect(seen).toEqual(["now 1"]);
    await database.kit.drain(client, { scheduled: true });
    expect(seen).toEqual(["now 1", "now 2", "later 1", "now 3", "later 2", "later 3"]);
    expect(await Promise.all(jobs.map((job) => job.state()))).toEqual(["completed", "completed"]);
  });

  it("rejects when its time is up: what snoozes for ever has no end", async () => {
    const endless = defineStep("endless", async () => {
      throw new Snooze("1h");
    });
    const client = await testWorker(database, [endless]);
    const job = await endless.enqueue(client);
    await expect(database.kit.drain(client, { scheduled: true, timeout: "500ms" })).rejects.toMatchObject({
      code: "CYCLONE_DRAIN_TIMEOUT",
      timeoutMs: 500,
    });
    await database.query("delete from cyclone_steps where run_id = $1", [job.id]);
    await database.query("delete from cyclone_runs where id = $1", [job.id]);
  });
});

describe("waitForNode()", () => {
  it("waits for a state, one of several, or one that was reached before", async () => {
    const gate = latch();
    const held = defineStep("held-up", async () => gate.opened);
    const client = await testWorker(database, [held]);
    const job = await held.enqueue(client);
    expect(await database.kit.waitForNode(job, "held-up", "running")).toMatchObject({ name: "held-up", attempt: 0 });
    const ended = database.kit.waitForNode(job.id, "held-up", ["completed", "discarded"]);
    gate.open();
    expect(await ended).toMatchObject({ state: "completed", attempt: 1 });
    expect(await database.kit.waitForNode(job, "held-up", "completed")).toMatchObject({ state: "completed" });
  });

  it("rejects at once where the node has ended otherwise, or isn't there, and shows the run's nodes", async () => {
    const fails = defineStep("fails", { maxAttempts: 1 }, async () => {
      throw new TypeError("no such page");
    });
    const run = defineWorkflow("failing", (b) => void add.do(b, 1, { after: [fails.do(b)] }));
    const client = testClient(database, { handlers: [fails, add] });
    const { id } = await run.submit(client);
    await client.drain();
    const failure = await database.kit.waitForNode(id, "fails", "completed").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AssertionError);
    expect(failure).toMatchObject({ actual: "discarded", expected: "completed" });
    expect((failure as Error).message).toBe(
      `Node "fails" of run ${id} is discarded, and won't be completed. Its nodes:\n` +
        "  fails: discarded, attempts 1, TypeError: no such page\n  add: cancelled",
    );
    await expect(database.kit.waitForNode(id, "fial", "completed")).rejects.toThrow(/has no node "fial".*\n {2}fails/);
    await expect(database.kit.waitForNode(id.replace(/^./, "f"), "fails", "completed")).rejects.toMatchObject({
      code: "CYCLONE_RUN_NOT_FOUND",
    });
  });

  it("rejects when its time is up, with what the run's nodes are", async () => {
    const job = await add.enqueue(testClient(database), 1, { delay: "1h" });
    const waiting = database.kit.waitForNode(job, "add", ["running", "completed"], { timeout: "60ms" });
    await expect(waiting).rejects.toThrow(/wasn't running or completed within 60 ms. Its nodes:\n {2}add: scheduled$/);
  });
});

describe("enqueued()", () => {
  it("gives what was started of a definition, oldest first, with its input and options", async () => {
    const client = testClient(database);
    const noted = defineStep("noted", async (_ctx, n: number) => n);
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const plain = await noted.enqueue(client, 1);
    const rich = await noted.enqueue(client, 2, {
      delay: "1h",
      queue: "slow",
      priority: 5,
      tags: ["a"],
      idempotencyKey: "key",
      traceparent,
    });
    const runs = await database.kit.enqueued(noted);
    expectTypeOf(runs[0]?.input).toEqualTypeOf<number | undefined>();
    expect(runs).toEqual([
      {
        id: plain.id,
        input: 1,
        state: "running",
        queue: "default",
        priority: 0,
        tags: [],
        idempotencyKey: null,
        traceparent: null,
        startsAt: null,
      },
      {
        id: rich.id,
        input: 2,
        state: "running",
        queue: "slow",
        priority: 5,
        tags: ["a"],
        idempotencyKey: "key",
        traceparent,
        startsAt: (await stepRow(database, rich.id)).available_at,
      },
    ]);
  });

  it("knows workflows, and actions without an input, and tells them apart", async () => {
    const client = testClient(database);
    const bare = defineAction("bare", async () => {});
    const flow = defineWorkflow("bare", (b, _input: { n: number }) => void bare.do(b));
    await bare.enqueue(client);
    await flow.submit(client, { n: 1 });
    expect(await database.kit.enqueued(bare)).toMatchObject([{ input: undefined, queue: "default" }]);
    expect(await database.kit.enqueued(flow)).toMatchObject([{ input: { n: 1 }, queue: null, priority: null }]);
    await expect(database.kit.enqueued({} as never)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
  });
});

describe("assertEnqueued()", () => {
  it("finds the first that has what is named, and tells what is there if none has", async () => {
    const client = testClient(database);
    await mail.enqueue(client, { to: "a@example.com", lines: ["x"] });
    const { id } = await mail.enqueue(client, { to: "b@example.com", lines: ["x", "y"] }, { tags: ["t"] });
    const found = await database.kit.assertEnqueued(mail, { input: { to: "b@example.com" }, tags: ["t"] });
    expect(found).toMatchObject({ id, input: { lines: ["x", "y"] } });
    expectTypeOf(found.input).toEqualTypeOf<{ to: string; lines: string[] }>();
    for (const input of [{ to: "c@example.com" }, { lines: ["y"] }, { lines: ["x", "y", "z"] }]) {
      await expect(database.kit.assertEnqueued(mail, { input })).rejects.toThrow(
        /No run of action "mail" is as .*; of 2, the last are:\n.*a@example.com.*\n.*b@example.com/,
      );
    }
    await expect(database.kit.assertEnqueued(defineStep("never", async () => {}))).rejects.toThrow("there is none");
    // @ts-expect-error -- the input's type is the definition's
    await expect(database.kit.assertEnqueued(mail, { input: { to: 5 } })).rejects.toBeInstanceOf(AssertionError);
    // @ts-expect-error -- no such field
    await expect(database.kit.assertEnqueued(mail, { inputs: {} })).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
    });
  });
});
