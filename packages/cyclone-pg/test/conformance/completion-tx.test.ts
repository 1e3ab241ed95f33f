import { beforeAll, describe, expect, it } from "vitest";
import {
  type Context,
  Discard,
  defineAction,
  defineStep,
  defineWorkflow,
  LeaseLostError,
  RetryAfter,
  Snooze,
} from "../../src/index.ts";
import { attemptRows, expireLeases, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

beforeAll(async () => {
  await database.query(
    "create table ledger (run_id uuid, node text, amount int, xid xid8 default pg_current_xact_id(), primary key (run_id, node))",
  );
});

/** The write that belongs to the step. */
async function charge(ctx: Context, amount: number): Promise<void> {
  const tx = await ctx.completionTx();
  await tx.query("insert into ledger (run_id, node, amount) values ($1, $2, $3)", [ctx.runId, ctx.node, amount]);
}

const ledgerOf = async (runId: string): Promise<number[]> => {
  const { rows } = await database.query<{ amount: number }>("select amount from ledger where run_id = $1", [runId]);
  return rows.map((row) => row.amount);
};

describe("a write on the completionTx", () => {
  it("commits together with the completion, in one transaction", async () => {
    const pay = defineStep("pay", async (ctx, amount: number) => {
      await charge(ctx, amount);
      return { paid: amount };
    });
    // A trigger of the test's own writes down in which transaction the node completes.
    await database.query(`
      create table completions (run_id uuid, xid xid8 default pg_current_xact_id());
      create function note_completion() returns trigger language plpgsql as
        'begin insert into completions (run_id) values (new.run_id); return null; end';
      create trigger completion after update on cyclone_steps for each row
        when (old.state = 'running' and new.state = 'completed') execute function note_completion()`);
    const client = await testWorker(database, [pay]);
    const job = await pay.enqueue(client, 5);
    expect(await job.result()).toEqual({ paid: 5 });
    const { rows } = await database.query(
      "select l.amount, l.xid = c.xid as together from ledger l join completions c using (run_id) where run_id = $1",
      [job.id],
    );
    expect(rows).toEqual([{ amount: 5, together: true }]);
    await database.query("drop trigger completion on cyclone_steps");
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, output: { paid: 5 }, lease_owner: null });
  });

  it("isn't seen by anybody before the completion is", async () => {
    const [written, gate] = [latch(), latch()];
    const pay = defineStep("pay-held", async (ctx) => {
      await charge(ctx, 1);
      written.open();
      await gate.opened;
    });
    const client = await testWorker(database, [pay]);
    const job = await pay.enqueue(client);
    await written.opened;
    expect(await ledgerOf(job.id)).toEqual([]);
    expect(await job.node("pay-held").state()).toBe("running");
    gate.open();
    await job.result();
    expect(await ledgerOf(job.id)).toEqual([1]);
  });

  it("rolls back when the handler throws, and the next attempt's write is the only one", async () => {
    const pay = defineStep("pay-retried", { backoff: 1 }, async (ctx) => {
      await charge(ctx, ctx.attempt);
      if (ctx.attempt < 3) throw new Error("after the write");
    });
    const client = await testWorker(database, [pay]);
    const job = await pay.enqueue(client);
    await job.result();
    expect(await ledgerOf(job.id)).toEqual([3]);
    expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["failed", "failed"]);
  });

  it("rolls back on Discard, on Snooze and on RetryAfter", async () => {
    const pay = defineAction("pay-steered", async (ctx, how: "discard" | "snooze" | "retry") => {
      if (ctx.snoozes > 0 || ctx.attempt > 1) return;
      await charge(ctx, 1);
      if (how === "discard") throw new Discard("no");
      if (how === "snooze") throw new Snooze("10ms");
      throw new RetryAfter("10ms");
    });
    const client = await testWorker(database, [pay]);
    const jobs = await pay.enqueueMany(client, ["discard", "snooze", "retry"]);
    const ends = await Promise.all(jobs.map((job) => job.wait()));
    expect(ends.map((end) => end.state)).toEqual(["failed", "completed", "completed"]);
    expect(await Promise.all(jobs.map((job) => ledgerOf(job.id)))).toEqual([[], [], []]);
  });

  it("rolls back when the output can't be stored, and the node is discarded", async () => {
    const pay = defineStep("pay-unstorable", { payload: "unchecked" }, async (ctx) => {
      await charge(ctx, 1);
      return { at: new Date() };
    });
    const client = await testWorker(database, [pay]);
    const job = await pay.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_INVALID_PAYLOAD" } });
    expect(await ledgerOf(job.id)).toEqual([]);
    expect((await stepRow(database, job.id)).attempts).toBe(1);
  });

  it("rolls back when the lease was lost, and the one who has it now writes alone", async () => {
    const [written, gate] = [latch(), latch()];
    let calls = 0;
    const pay = defineStep("pay-zombie", async (ctx) => {
      calls += 1;
      const call = calls;
      await charge(ctx, call);
      if (call > 1) return call;
      written.open();
      await gate.opened;
      return call;
    });
    // The first owner renews every 10 s: its lease, once expired here, stays so for the test.
    const zombie = await testWorker(database, [pay]);
    const lost = eventsOf(zombie, "lease.lost");
    const job = await pay.enqueue(testClient(database));
    await written.opened;
    await database.query("update cyclone_steps set lease_epoch = lease_epoch + 1 where run_id = $1", [job.id]);
    gate.open();
    await eventually(() => expect(lost).toHaveLength(1));
    expect(await ledgerOf(job.id)).toEqual([]);
    expect(await stepRow(database, job.id)).toMatchObject({ state: "running", output: null, attempts: 0 });
    await zombie.stop();
    await expireLeases(database, job.id);
    await testWorker(database, [pay], { leaseTtl: "1s" });
    expect(await job.result()).toBe(2);
    expect(await ledgerOf(job.id)).toEqual([2]);
  });

  it("of a handler that never asks for one costs no connection", async () => {
    const plain = defineStep("plain", async () => {
      const { rows } = await database.query(
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'cyclone completionTx'",
      );
      return (rows[0] as { count: number }).count;
    });
    const client = await testWorker(database, [plain]);
    expect(await (await plain.enqueue(client)).result()).toBe(0);
  });
});

describe("completionTx()", () => {
  it("is the same transaction at each call in one handler", async () => {
    const pay = defineStep("pay-twice", async (ctx) => {
      const ids = [];
      for (let i = 0; i < 3; i++) {
        const tx = await ctx.completionTx();
        const { rows } = await tx.query("select pg_current_xact_id()::text as id, pg_backend_pid() as pid");
        ids.push(JSON.stringify(rows));
      }
      return new Set(ids).size;
    });
    const client = await testWorker(database, [pay]);
    expect(await (await pay.enqueue(client)).result()).toBe(1);
  });

  it("is READ COMMITTED unless another isolation is asked for", async () => {
    const level = defineStep("level", async (ctx, isolation: "repeatable read" | "serializable" | null) => {
      const tx = await ctx.completionTx(isolation === null ? {} : { isolation });
      const { rows } = await tx.query<{ level: string }>("select current_setting('transaction_isolation') as level");
      return rows[0]?.level ?? "";
    });
    const client = await testWorker(database, [level]);
    const jobs = await level.enqueueMany(client, [null, "repeatable read", "serializable"]);
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([
      "read committed",
      "repeatable read",
      "serializable",
    ]);
  });

  it("refuses an isolation or an option that doesn't exist", async () => {
    const wrong = defineStep("wrong-level", async (ctx, options: { [key: string]: string }) => {
      await expect(ctx.completionTx(options as never)).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
      return true;
    });
    const client = await testWorker(database, [wrong]);
    const jobs = await wrong.enqueueMany(client, [
      { isolation: "serializable; drop table ledger" },
      { level: "serializable" },
    ]);
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([true, true]);
  });

  it("can hold submits and enqueues, which exist if and only if the step completes", async () => {
    const next = defineStep("next", async (_ctx, n: number) => n);
    const ids: string[] = [];
    const first = defineStep("first", { backoff: 1 }, async (ctx) => {
      const run = await next.enqueue(client, ctx.attempt, { tx: await ctx.completionTx() });
      ids.push(run.id);
      if (ctx.attempt === 1) throw new Error("undo");
    });
    const client = testClient(database, { handlers: [first, next] });
    await client.start();
    await (await first.enqueue(client)).result();
    expect(ids).toHaveLength(2);
    await expect(client.run(ids[0] ?? "").state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    expect(await client.run(ids[1] ?? "").result()).toBe(2);
  });

  it("reports one that stays open for longer than the lease", async () => {
    const gate = latch();
    const pay = defineStep("pay-slowly", async (ctx) => {
      await ctx.completionTx();
      await gate.opened;
    });
    const client = await testWorker(database, [pay], { leaseTtl: "1s" });
    const degraded = eventsOf(client, "worker.degraded");
    const job = await pay.enqueue(client);
    await eventually(() =>
      expect(degraded.map(({ reason }) => reason)).toContainEqual(expect.stringContaining(job.id)),
    );
    gate.open();
    await job.result();
  });
});

describe("what follows from a completionTx", () => {
  it("is the same as from any completion: downstream nodes start, with its output, and the run ends", async () => {
    const pay = defineStep("pay-chain", async (ctx, n: number) => {
      await charge(ctx, n);
      return n + 1;
    });
    const client = await testWorker(database, [pay]);
    const chain = defineWorkflow("chain", (b, n: number) => pay.do(b, pay.do(b, pay.do(b, n))));
    const run = await chain.submit(client, 1);
    expect(await run.result()).toBe(4);
    expect((await ledgerOf(run.id)).sort((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it("leaves exactly one effect per node, whatever goes wrong on the way", async () => {
    const pay = defineStep("pay-many", { backoff: 1 }, async (ctx, n: number) => {
      await charge(ctx, n);
      if (ctx.attempt === 1 && n % 4 === 0) throw new Error("first try");
      if (ctx.snoozes === 0 && n % 4 === 1) throw new Snooze(1);
      return n;
    });
    const client = await testWorker(database, [pay], { concurrency: 20 });
    const inputs = Array.from({ length: 100 }, (_, n) => n);
    const jobs = await pay.enqueueMany(client, inputs);
    await Promise.all(jobs.map((job) => job.result()));
    expect(await Promise.all(jobs.map((job) => ledgerOf(job.id)))).toEqual(inputs.map((n) => [n]));
  });
});

describe("after the signal has fired for a lost lease", () => {
  it("completionTx() and queries on it throw the signal's reason", async () => {
    const [begun, seen] = [latch(), latch<unknown[]>()];
    const pay = defineStep("pay-lost", async (ctx) => {
      const tx = await ctx.completionTx();
      begun.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      const thrown = async (work: Promise<unknown>): Promise<unknown> =>
        work.then(
          () => "nothing",
          (error: unknown) => error,
        );
      seen.open([await thrown(tx.query("select 1")), await thrown(ctx.completionTx()), ctx.signal.reason]);
    });
    const client = await testWorker(database, [pay], { leaseTtl: "1s" });
    const job = await pay.enqueue(client);
    await begun.opened;
    // As if another worker had it: the next renewal finds out.
    await database.query("update cyclone_steps set lease_epoch = lease_epoch + 1 where run_id = $1", [job.id]);
    const [query, again, reason] = await seen.opened;
    expect(reason).toBeInstanceOf(LeaseLostError);
    expect([query, again]).toEqual([reason, reason]);
    expect(reason).toMatchObject({ code: "CYCLONE_LEASE_LOST", runId: job.id, node: "pay-lost" });
  });
});
