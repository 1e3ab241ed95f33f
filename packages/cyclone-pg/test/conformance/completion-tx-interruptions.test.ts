import { beforeAll, describe, expect, it } from "vitest";
import { type CompletionTx, defineStep } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

beforeAll(async () => {
  await database.query("create table accounts (id int primary key, balance int)");
  await database.query("insert into accounts values (1, 100), (2, 100)");
  await database.query("create table effects (name text)");
});

const effects = async (name: string): Promise<number> => {
  const { rows } = await database.query("select 1 from effects where name = $1", [name]);
  return rows.length;
};
const terminate = async (tx: CompletionTx): Promise<void> => {
  const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid;
  await database.query("select pg_terminate_backend($1)", [pid]);
  await eventually(async () => {
    expect((await database.query("select 1 from pg_stat_activity where pid = $1", [pid])).rows).toEqual([]);
  });
};

/** One interruption and one good call, no attempt charged for the first. */
async function expectInterrupted(runId: string): Promise<void> {
  const row = await stepRow(database, runId);
  expect(row).toMatchObject({ state: "completed", attempts: 1, reclaims: 1 });
  const attempts = await attemptRows(database, runId);
  expect(attempts.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([["interrupted", 1]]);
}

describe("a completionTx whose connection is lost", () => {
  it("between two queries is an interruption: no attempt is charged, and the step is given back", async () => {
    const cut = defineStep("cut-between", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into effects values ('cut-between')");
      if (ctx.reclaims > 0) return;
      await terminate(tx);
      await tx.query("insert into effects values ('cut-between')");
    });
    const client = await testWorker(database, [cut]);
    const job = await cut.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
    expect(await effects("cut-between")).toBe(1);
  });

  it("after the handler's last query is one too", async () => {
    const cut = defineStep("cut-after", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into effects values ('cut-after')");
      if (ctx.reclaims === 0) await terminate(tx);
    });
    const client = await testWorker(database, [cut]);
    const job = await cut.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
    expect(await effects("cut-after")).toBe(1);
  });

  it("while the handler swallows the failure is one too, since nothing can have been committed", async () => {
    const cut = defineStep("cut-swallowed", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into effects values ('cut-swallowed')");
      if (ctx.reclaims > 0) return;
      await terminate(tx);
      await tx.query("select 1").catch(() => undefined);
    });
    const client = await testWorker(database, [cut]);
    const job = await cut.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
    expect(await effects("cut-swallowed")).toBe(1);
  });

  it("while the handler throws an error of its own is one too", async () => {
    const cut = defineStep("cut-wrapped", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      if (ctx.reclaims > 0) return;
      await terminate(tx);
      await tx.query("select 1").catch((cause: unknown) => {
        throw new Error("the repository failed", { cause });
      });
    });
    const client = await testWorker(database, [cut]);
    const job = await cut.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
  });

  it("by each other, at one hot row, costs them time and not the run: they come back apart", async () => {
    await database.query("create table hot (n int); insert into hot values (0)");
    const increment = defineStep("increment", async (ctx) => {
      const tx = await ctx.completionTx({ isolation: "repeatable read" });
      const { rows } = await tx.query<{ n: number }>("select n from hot");
      await tx.query("update hot set n = $1", [(rows[0]?.n ?? 0) + 1]);
    });
    const worker = await testWorker(database, [increment], { concurrency: 10, maxConnections: 20 });
    const jobs = await increment.enqueueMany(worker, Array.from({ length: 60 }));
    await Promise.all(jobs.map((job) => job.result()));
    expect((await database.query("select n from hot")).rows).toEqual([{ n: 60 }]);
    await worker.stop();
  });

  it("again and again ends at maxReclaims", async () => {
    const cut = defineStep("cut-always", { maxReclaims: 1 }, async (ctx) => {
      await terminate(await ctx.completionTx());
    });
    const client = await testWorker(database, [cut]);
    const job = await cut.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_MAX_RECLAIMS" } });
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 0, reclaims: 1 });
  });

  it("is given back after a second, not at once", async () => {
    const at: number[] = [];
    const cut = defineStep("cut-paced", async (ctx) => {
      at.push(performance.now());
      if (ctx.reclaims === 0) await terminate(await ctx.completionTx());
    });
    const client = await testWorker(database, [cut]);
    await (await cut.enqueue(client)).result();
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(1_000);
  });
});

// Postgres itself would take a second and write into its log; its error is the same.
const stagedDeadlock = "do $$ begin raise exception 'a staged conflict' using errcode = '40P01'; end $$";

describe("a conflict under a completionTx", () => {
  it("of serialization (40001) is an interruption, also wrapped by an ORM", async () => {
    for (const wrapped of [false, true]) {
      const transfer = defineStep(`transfer-${wrapped}`, { maxAttempts: 1 }, async (ctx) => {
        const tx = await ctx.completionTx({ isolation: "repeatable read" });
        await tx.query("select balance from accounts where id = 1");
        if (ctx.reclaims === 0) await database.query("update accounts set balance = balance + 1 where id = 1");
        try {
          await tx.query("update accounts set balance = balance - 10 where id = 1");
        } catch (cause) {
          expect(cause).toMatchObject({ code: "40001" });
          throw wrapped ? new Error("query failed", { cause: new Error("driver", { cause }) }) : cause;
        }
      });
      const client = await testWorker(database, [transfer]);
      const job = await transfer.enqueue(client);
      await job.result();
      await expectInterrupted(job.id);
      await client.stop();
    }
  });

  it("is an interruption also where what the handler throws doesn't tell of it", async () => {
    const hiding = defineStep("hiding", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("begin");
      try {
        if (ctx.reclaims === 0) await tx.query(stagedDeadlock);
      } catch {
        await tx.query("select 1").catch(() => undefined);
        await tx.query("rollback");
        throw new Error("the repository failed");
      }
    });
    const client = await testWorker(database, [hiding]);
    const job = await hiding.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
  });

  it("that the handler got over isn't to blame for what it throws later", async () => {
    const recovering = defineStep("recovering", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("begin");
      await expect(tx.query(stagedDeadlock)).rejects.toMatchObject({ code: "40P01" });
      await tx.query("rollback");
      await tx.query("select 1");
      throw new Error("out of stock");
    });
    const client = await testWorker(database, [recovering]);
    const job = await recovering.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "out of stock" } });
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0 });
  });

  it("that shows at the COMMIT is an interruption", async () => {
    await database.query("create table doctors (name text primary key, on_call boolean)");
    await database.query("insert into doctors values ('a', true), ('b', true)");
    const leave = defineStep("leave", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx({ isolation: "serializable" });
      await tx.query("select count(*) from doctors where on_call");
      await tx.query("update doctors set on_call = false where name = 'a'");
      if (ctx.reclaims > 0) return;
      // Write skew: the other one reads what this one writes, and commits first.
      await database.query(
        "begin isolation level serializable; select count(*) from doctors where on_call; update doctors set on_call = false where name = 'b'; commit",
      );
    });
    const client = await testWorker(database, [leave]);
    const job = await leave.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
  });

  it("of a deadlock (40P01) is an interruption", async () => {
    const lock = defineStep("locks", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      if (ctx.reclaims === 0) await tx.query(stagedDeadlock);
    });
    const client = await testWorker(database, [lock]);
    const job = await lock.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
  });

  it("outside a completionTx is an ordinary failure: that transaction is the handler's own", async () => {
    const own = defineStep("own-tx", { maxAttempts: 1 }, async () => {
      throw Object.assign(new Error("could not serialize access"), { code: "40001" });
    });
    const client = await testWorker(database, [own]);
    const job = await own.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "40001" } });
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0 });
  });

  it("of another kind is an ordinary failure", async () => {
    const duplicate = defineStep("duplicate", { maxAttempts: 1 }, async (ctx) => {
      await (await ctx.completionTx()).query("insert into accounts values (1, 0)");
    });
    const client = await testWorker(database, [duplicate]);
    const job = await duplicate.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "23505" } });
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0 });
  });
});

describe("a completionTx that is idle for longer than the server allows", () => {
  it("is an interruption, not the handler's failure (25P03)", async () => {
    const patient = defineStep("patient", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      if (ctx.reclaims > 0) return;
      await tx.query("set local idle_in_transaction_session_timeout = '100ms'");
      const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
      await eventually(async () => {
        const { rows: alive } = await database.query("select 1 from pg_stat_activity where pid = $1", [rows[0]?.pid]);
        expect(alive).toEqual([]);
      });
    });
    const client = await testWorker(database, [patient]);
    const job = await patient.enqueue(client);
    await job.result();
    await expectInterrupted(job.id);
  });
});

describe("when its lease is lost, a handler that waits in a query", () => {
  it("is freed from it: the transaction is undone at once", async () => {
    const [begun, ended] = [latch(), latch<unknown>()];
    const stuck = defineStep("stuck", async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("insert into effects values ('stuck')");
      begun.open();
      await tx.query("select pg_sleep(60)").catch((error: unknown) => ended.open(error));
    });
    const client = await testWorker(database, [stuck], { leaseTtl: "1s" });
    const lost = eventsOf(client, "lease.lost");
    const job = await stuck.enqueue(testClient(database));
    await begun.opened;
    await database.query("update cyclone_steps set lease_epoch = lease_epoch + 1 where run_id = $1", [job.id]);
    expect(await ended.opened).toBeInstanceOf(Error);
    await eventually(() => expect(lost).toHaveLength(1));
    expect(await effects("stuck")).toBe(0);
  });
});
