import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow, RunCancelledError, type RunState } from "../../src/index.ts";
import { attemptRows, stepRow, stepRows } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { notingPool } from "../support/noting-pool.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const add = defineStep("add", async (_ctx, n: number) => n + 1);

describe("a run that is cancelled", () => {
  it("whose handler ignores the signal keeps that handler's slot, which is told of", { timeout: 30_000 }, async () => {
    const [entered, gate] = [latch(), latch()];
    const deaf = defineStep("deaf", async () => {
      entered.open();
      await gate.opened;
    });
    const worker = await testWorker(database, [deaf]);
    const stuck = eventsOf(worker, "worker.stuck");
    const run = await deaf.enqueue(worker);
    await entered.opened;
    await run.cancel();
    await eventually(() => expect(stuck).toMatchObject([{ runId: run.id, node: "deaf" }]));
    gate.open();
    await worker.drain();
    expect(await run.state()).toBe("cancelled");
  });

  it("has only cancelled and completed nodes, none of which is ever called again, and says why", async () => {
    const held = latch();
    const entered = latch();
    const hold = defineStep("hold", async (ctx, n: number) => {
      entered.open();
      await Promise.race([held.opened, new Promise((resolve) => ctx.signal.addEventListener("abort", resolve))]);
      return n;
    });
    const later = defineStep("later", async () => {
      throw new Error("never called");
    });
    const flow = defineWorkflow("cancelled-in-the-middle", (b, n: number) => {
      const first = add.do(b, n);
      const second = hold.do(b, first);
      later.do(b, undefined, { after: [second] });
      return add.do(b, second);
    });
    const worker = await testWorker(database, [add, hold, later]);
    const producer = testClient(database);
    const cancelled = eventsOf(producer, "run.cancelled");
    const run = await flow.submit(producer, 1);
    await entered.opened;
    expect(await run.cancel("no longer wanted")).toBe("cancelled");

    expect(await run.state()).toBe("cancelled");
    expect((await run.nodes()).map(({ state }) => state)).toEqual(["completed", "cancelled", "cancelled", "cancelled"]);
    expect(await run.wait()).toMatchObject({ state: "cancelled", reason: "no longer wanted" });
    await expect(run.result()).rejects.toMatchObject({
      code: "CYCLONE_RUN_NOT_COMPLETED",
      state: "cancelled",
      reason: "no longer wanted",
      message: expect.stringContaining("was cancelled: no longer wanted"),
    });
    expect(cancelled).toEqual([{ runId: run.id, name: "cancelled-in-the-middle" }]);
    held.open();
    await worker.stop();
    expect((await run.nodes()).map(({ state }) => state)).toEqual(["completed", "cancelled", "cancelled", "cancelled"]);
    expect(await attemptRows(database, run.id)).toMatchObject([{ outcome: "cancelled", attempt: 1 }]);
  });

  it("is heard by its handler at once, in another process too, with the reason, and its late result is refused", async () => {
    const seen = latch<unknown>();
    const entered = latch();
    const listens = defineStep("listens", async (ctx) => {
      entered.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      seen.open(ctx.signal.reason);
      return "late";
    });
    const worker = await testWorker(database, [listens], { leaseTtl: "60s" });
    const lost = eventsOf(worker, "lease.lost");
    const job = await listens.enqueue(testClient(database));
    await entered.opened;
    const began = performance.now();
    await testClient(database).run(job.id).cancel("stop it");
    const reason = await seen.opened;
    expect(performance.now() - began).toBeLessThan(5_000); // a heartbeat would take twenty seconds
    expect(reason).toBeInstanceOf(RunCancelledError);
    expect(reason).toMatchObject({ code: "CYCLONE_RUN_CANCELLED", message: expect.stringContaining("stop it") });
    await worker.stop();
    expect(await stepRow(database, job.id)).toMatchObject({ state: "cancelled", output: null, attempts: 0 });
    expect(lost).toEqual([]); // it wasn't lost, it was cancelled
  });

  it("is heard within a heartbeat where nobody listens", async () => {
    const seen = latch<unknown>();
    const entered = latch();
    const listens = defineStep("listens-not", async (ctx) => {
      entered.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      seen.open(ctx.signal.reason);
    });
    await testWorker(database, [listens], { leaseTtl: "1500ms", listen: false });
    const job = await listens.enqueue(testClient(database));
    await entered.opened;
    await job.cancel();
    expect(await seen.opened).toMatchObject({ code: "CYCLONE_RUN_CANCELLED" });
  });

  it("keeps what its completionTx wrote from committing", async () => {
    await database.query("create table written (n int)");
    const [entered, gate, ended] = [latch(), latch(), latch<unknown>()];
    const writes = defineAction("writes-late", async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into written values (1)");
      entered.open();
      await gate.opened;
      ended.open(
        await tx.query("select 1").then(
          () => "no error",
          (error: unknown) => error,
        ),
      );
    });
    const worker = await testWorker(database, [writes]);
    const job = await writes.enqueue(testClient(database));
    await entered.opened;
    expect(await job.cancel()).toBe("cancelled");
    gate.open();
    await ended.opened;
    await worker.stop();
    expect((await database.query("select * from written")).rows).toEqual([]);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "cancelled" });
  });

  it("can be cancelled in each state of its nodes: blocked, delayed, available", async () => {
    const producer = testClient(database);
    const chain = defineWorkflow("waits", (b, n: number) => add.do(b, add.do(b, n)));
    const delayed = await chain.submit(producer, 1, { delay: "1h" });
    const available = await chain.submit(producer, 1);
    const states = async (id: string): Promise<unknown[]> => (await stepRows(database, id)).map((row) => row["state"]);
    expect(await states(delayed.id)).toEqual(["scheduled", "pending"]);
    expect(await states(available.id)).toEqual(["available", "pending"]);
    for (const run of [delayed, available]) {
      expect(await run.cancel()).toBe("cancelled");
      expect(await states(run.id)).toEqual(["cancelled", "cancelled"]);
      const { rows } = await database.query("select remaining from cyclone_runs where id = $1", [run.id]);
      expect(rows).toEqual([{ remaining: 0 }]);
    }
  });
});

describe("cancel", () => {
  it("of a run that has ended leaves it as it is and says how it ended, twice as well", async () => {
    const fails = defineStep("fails", { maxAttempts: 1 }, async () => {
      throw new Error("no");
    });
    await testWorker(database, [add, fails]);
    const producer = testClient(database);
    const completed = await add.enqueue(producer, 1);
    const failed = await fails.enqueue(producer);
    await Promise.all([completed.wait(), failed.wait()]);
    expect(await completed.cancel()).toBe("completed");
    expect(await failed.cancel()).toBe("failed");
    expect(await completed.result()).toBe(2);
    const late = await add.enqueue(producer, 1, { delay: "1h" });
    expect(await late.cancel("first")).toBe("cancelled");
    expect(await late.cancel("second")).toBe("cancelled");
    expect(await late.wait()).toMatchObject({ reason: "first" });
  });

  it("of a run that doesn't exist is an error, and so is a reason that isn't a text", async () => {
    const producer = testClient(database);
    await expect(producer.run(randomUUID()).cancel()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    await expect(producer.run("x").cancel()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    const job = await add.enqueue(producer, 1, { delay: "1h" });
    // @ts-expect-error -- a caller without types
    await expect(job.cancel(42)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION", option: "reason" });
    expect(await job.cancel("a\u0000b\ud800c")).toBe("cancelled");
    expect(await job.wait()).toMatchObject({ reason: "a\ufffdb\ufffdc" });
  });

  it("of a run whose last completion has committed and isn't counted yet says completed", async () => {
    const producer = testClient(database);
    const job = await add.enqueue(producer, 1);
    // As a worker leaves it that dies right after the COMMIT of a completionTx.
    await database.query(
      "update cyclone_steps set state = 'completed', attempts = 1, lease_epoch = 1, finished_at = statement_timestamp(), unactivated = true, output = '2' where run_id = $1",
      [job.id],
    );
    expect(await job.state()).toBe("running");
    expect(await job.cancel()).toBe("completed");
    expect(await job.output()).toBe(2);
  });

  it("against completion, 2,000 races: the answer, the final state and the ledger agree each time", {
    timeout: 120_000,
  }, async () => {
    await database.query("create table cancel_ledger (run_id uuid)");
    const pay = defineAction("pay-or-not", async (ctx) => {
      await (await ctx.completionTx()).query("insert into cancel_ledger values ($1)", [ctx.runId]);
    });
    const plain = defineStep("plain-or-not", async () => "done");
    await testWorker(database, [pay, plain], { concurrency: 20, maxConnections: 14 });
    const producer = testClient(database, { maxConnections: 10 });
    const answers = new Map<string, RunState>();
    const RACES = 2_000;
    const AT_ONCE = 20;
    for (let i = 0; i < RACES; i += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, k) => {
          const job = k % 2 === 0 ? await pay.enqueue(producer) : await plain.enqueue(producer);
          // Some cancels come at once, some when the call is under way, some when it has ended.
          for (let turns = (i / AT_ONCE + k) % 7; turns > 0; turns--) await job.state();
          answers.set(job.id, await job.cancel());
        }),
      );
    }
    const { rows } = await database.query(
      `select r.id, r.state::text as run, s.state::text as node, r.remaining, s.step = 'pay-or-not' as pays,
         (select count(*)::int from cancel_ledger l where l.run_id = r.id) as paid
       from cyclone_runs r join cyclone_steps s on s.run_id = r.id where s.step in ('pay-or-not', 'plain-or-not')`,
    );
    expect(rows).toHaveLength(RACES);
    const disagreeing = rows.filter(({ id, run, node, remaining, pays, paid }) => {
      const once = paid === (pays === true && run === "completed" ? 1 : 0);
      return answers.get(String(id)) !== run || run !== node || remaining !== 0 || !once;
    });
    expect(disagreeing).toEqual([]);
    const seen = new Set(answers.values());
    expect([...seen].sort()).toEqual(["cancelled", "completed"]); // else there was no race
  });
});

describe("a chain of 10,000 nodes", () => {
  it("is cancelled by a bounded number of statements", { timeout: 120_000 }, async () => {
    const long = defineWorkflow("long-chain", (b, length: number) => {
      let last = add.do(b, 0);
      for (let i = 1; i < length; i++) last = add.do(b, last);
      return last;
    });
    const { pool, names } = notingPool(database);
    const run = await long.submit(testClient(database, { connection: pool }), 10_000);
    names.length = 0;
    expect(await run.cancel()).toBe("cancelled");
    expect(names).toEqual(["end_runs"]);
    const { rows } = await database.query(
      "select state::text as state, count(*)::int as n from cyclone_steps where run_id = $1 group by 1",
      [run.id],
    );
    expect(rows).toEqual([{ state: "cancelled", n: 10_000 }]);
  });
});
