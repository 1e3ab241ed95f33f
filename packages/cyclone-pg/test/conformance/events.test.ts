import { describe, expect, it } from "vitest";
import {
  type Client,
  Discard,
  defineStep,
  defineWorkflow,
  type EventName,
  type Logger,
  Snooze,
} from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, recordingLog, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** All that a client tells of steps and runs, as "event node". */
function tale(client: Client): string[] {
  const names: EventName[] = ["step.claimed", "step.completed", "step.failed", "step.discarded", "step.snoozed"];
  const seen: string[] = [];
  for (const name of names) client.on(name, (event) => void seen.push(`${name} ${(event as { node: string }).node}`));
  for (const name of ["run.submitted", "run.completed", "run.failed"] as const) {
    client.on(name, (event) => void seen.push(`${name} ${event.name}`));
  }
  return seen;
}

const good = defineStep("good", async (_ctx, n: number) => n);

describe("a client's events", () => {
  it("tell the life of a run in this process, in order", async () => {
    // A poll could claim the run before the submit's reply is read.
    const client = await testWorker(database, [good], { pollInterval: "10m" });
    await client.drain();
    const seen = tale(client);
    const workflow = defineWorkflow("tale", (b) => good.do(b, good.do(b, 1)));
    const run = await workflow.submit(client);
    await run.result();
    await eventually(() => expect(seen).toContain("run.completed tale"));
    expect(seen).toEqual([
      "run.submitted tale",
      "step.claimed good",
      "step.completed good",
      "step.claimed good-2",
      "step.completed good-2",
      "run.completed tale",
    ]);
  });

  it("say what is known of a failure: the error, the delay, the attempt", async () => {
    const flaky = defineStep("flaky", { backoff: "20ms" }, async (ctx) => {
      if (ctx.snoozes === 0) throw new Snooze("30ms");
      if (ctx.attempt === 1) throw new TypeError("first");
      throw new Discard("over");
    });
    const client = await testWorker(database, [flaky]);
    const [snoozed, failed, discarded, ended] = [
      eventsOf(client, "step.snoozed"),
      eventsOf(client, "step.failed"),
      eventsOf(client, "step.discarded"),
      eventsOf(client, "run.failed"),
    ];
    const job = await flaky.enqueue(client);
    await job.wait();
    await eventually(() => expect(ended).toEqual([{ runId: job.id, name: "flaky" }]));
    const place = { runId: job.id, node: "flaky", step: "flaky" };
    expect(snoozed).toEqual([{ ...place, attempt: 1, delayMs: 30 }]);
    expect(failed).toEqual([
      { ...place, attempt: 1, retryInMs: 20, error: expect.objectContaining({ name: "TypeError", message: "first" }) },
    ]);
    expect(discarded).toEqual([
      { ...place, attempt: 2, error: expect.objectContaining({ name: "Discard", message: "over" }) },
    ]);
  });

  it("come after the commit: whoever is told can read it", async () => {
    const client = await testWorker(database, [good]);
    const states = new Promise<string[]>((resolve) => {
      client.on("step.completed", ({ runId }) => {
        void Promise.all([stepRow(database, runId), client.run(runId).state()]).then(([row, state]) =>
          resolve([row.state, state]),
        );
      });
    });
    await good.enqueue(client, 1);
    expect(await states).toEqual(["completed", "completed"]);
  });

  it("aren't told of a submit in a caller's transaction, which may roll back, nor of one that found its run", async () => {
    const client = testClient(database);
    const submitted = eventsOf(client, "run.submitted");
    const tx = await database.pool.connect();
    try {
      await tx.query("begin");
      await good.enqueue(client, 1, { tx });
      await tx.query("rollback");
    } finally {
      tx.release();
    }
    const job = await good.enqueue(client, 1, { idempotencyKey: "told once" });
    await good.enqueue(client, 1, { idempotencyKey: "told once" });
    expect(submitted).toEqual([{ runId: job.id, name: "good" }]);
  });

  it("reach each listener until it is removed", async () => {
    const client = testClient(database);
    const seen: string[] = [];
    const off = client.on("run.submitted", () => void seen.push("one"));
    client.on("run.submitted", () => void seen.push("two"));
    await good.enqueue(client, 1);
    off();
    off();
    await good.enqueue(client, 1);
    expect(seen).toEqual(["one", "two", "two"]);
  });

  it("whose listener throws are logged, and disturb neither the engine nor the next listener", async () => {
    const { log, lines } = recordingLog();
    const quiet = defineStep("listened-to", async (_ctx, n: number) => n);
    const client = await testWorker(database, [quiet], { log });
    let called = 0;
    client.on("step.completed", () => {
      throw new Error("from a listener");
    });
    client.on("step.completed", () => {
      called += 1;
    });
    for (let i = 0; i < 3; i++) expect(await (await quiet.enqueue(client, i)).result()).toBe(i);
    await eventually(() => expect(called).toBe(3));
    expect(lines.filter((line) => JSON.stringify(line).includes("from a listener"))).toHaveLength(3);
  });

  it("whose async listener rejects, or whose logger throws, disturb nothing either", async () => {
    let told = 0;
    const log = new Proxy({} as Logger, {
      get: () => () => {
        told += 1;
        throw new Error("the disk is full");
      },
    });
    const fails = defineStep("fails", { maxAttempts: 1 }, async () => {
      throw new Error("no");
    });
    const worker = testClient(database, { handlers: [good, fails], log });
    // oxlint-disable-next-line typescript/no-misused-promises -- what is tested
    worker.on("step.completed", async () => {
      throw new Error("not heard");
    });
    await worker.start();
    const failed = await fails.enqueue(worker);
    expect((await failed.wait()).state).toBe("failed");
    expect(await (await good.enqueue(worker, 1)).result()).toBe(1);
    expect(told).toBeGreaterThan(1);
    await worker.stop();
  });

  it("of kind error are logged where nobody listens, and never thrown", async () => {
    const { log, lines } = recordingLog();
    const client = await testWorker(database, [good], { log });
    await database.query(
      "alter table cyclone_steps add constraint staged check (node <> 'poisoned' or state <> 'running')",
    );
    const step = defineWorkflow("poisoned", (b) => void good.do(b, 1, { name: "poisoned" }));
    await step.submit(client);
    await eventually(() =>
      expect(lines.some((line) => line.level === "error" && line.fields?.["code"] === "23514")).toBe(true),
    );
    // One row that the database refuses doesn't hold up the others.
    expect(await (await good.enqueue(client, 5)).result()).toBe(5);
    await database.query("alter table cyclone_steps drop constraint staged");
  });
});

describe("the log line of a failed attempt", () => {
  it("has the error's nearest cause, and the stored error among its fields", async () => {
    const { log, lines } = recordingLog();
    const fetches = defineStep("fetches", { maxAttempts: 2, backoff: { base: 1 } }, async () => {
      throw new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND x") });
    });
    const plain = defineStep("plain", { maxAttempts: 1 }, async () => {
      throw new Error("too small: 3", { cause: new Error("too small") });
    });
    const client = await testWorker(database, [fetches, plain], { log });
    await (await fetches.enqueue(client)).wait();
    await (await plain.enqueue(client)).wait();
    const error = { message: "fetch failed", causes: [{ message: "getaddrinfo ENOTFOUND x" }] };
    const said = "TypeError: fetch failed: getaddrinfo ENOTFOUND x";
    await eventually(() => {
      expect(lines).toContainEqual({
        level: "warn",
        message: `Node "fetches" failed: ${said}`,
        fields: expect.objectContaining({ attempt: 1, error: expect.objectContaining({ message: error.message }) }),
      });
      const discarded = lines.find(({ message }) => message === `Node "fetches" is discarded: ${said}`);
      expect(discarded).toMatchObject({ level: "error", fields: { attempt: 2, error } });
      // A cause that the message tells already isn't told twice.
      expect(lines.map(({ message }) => message)).toContain('Node "plain" is discarded: Error: too small: 3');
    });
  });
});

describe("the log of a handler", () => {
  it("is the client's, with the run, node, step and attempt as fields", async () => {
    const { log, lines } = recordingLog();
    const talks = defineStep("talks", async (ctx) => {
      ctx.log.info("hello", { extra: 1 });
      ctx.log.debug("quietly");
    });
    const client = await testWorker(database, [talks], { log });
    const job = await talks.enqueue(client);
    await job.result();
    const place = { runId: job.id, node: "talks", step: "talks", attempt: 1 };
    expect(lines).toContainEqual({ level: "info", message: "hello", fields: { ...place, extra: 1 } });
    expect(lines).toContainEqual({ level: "debug", message: "quietly", fields: place });
  });
});

describe("the progress of a handler", () => {
  it("may have a message that the database can't store: it is made storable, cut at 1,024 bytes", async () => {
    const gate = latch();
    const told = defineStep("told", async (ctx) => {
      ctx.progress(0.5, `a\0b${"é".repeat(5_000)}`);
      await gate.opened;
    });
    const worker = await testWorker(database, [told], { leaseTtl: "1s" });
    const job = await told.enqueue(worker);
    await eventually(async () => {
      const { rows } = await database.query(
        "select octet_length(progress_message) as bytes, progress_message like 'a_b%' as kept from cyclone_steps where run_id = $1",
        [job.id],
      );
      expect(rows).toEqual([{ bytes: expect.any(Number), kept: true }]);
      expect(rows[0]?.["bytes"]).toBeLessThanOrEqual(1_024);
    });
    gate.open();
    await job.result();
  });

  it("is written with the next renewal, the last value of it", async () => {
    const works = defineStep("works", async (ctx) => {
      ctx.progress(0.1, "begun");
      ctx.progress(7, "beyond");
      ctx.progress(0.5, "half");
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    });
    const client = await testWorker(database, [works], { leaseTtl: "1s" });
    const job = await works.enqueue(testClient(database));
    await eventually(async () => {
      const { rows } = await database.query("select progress, progress_message from cyclone_steps where run_id = $1", [
        job.id,
      ]);
      expect(rows).toEqual([{ progress: 0.5, progress_message: "half" }]);
    });
    await client.stop({ timeout: 0 });
  });
});
