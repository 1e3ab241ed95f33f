import pg from "pg";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CompletionTx, type Context, defineStep } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

beforeAll(async () => {
  await database.query("create table notes (text text)");
});
beforeEach(async () => {
  await database.query("truncate notes");
});

const notes = async (): Promise<string[]> => {
  const { rows } = await database.query<{ text: string }>("select text from notes order by text");
  return rows.map((row) => row.text);
};

let count = 0;
/** Runs one handler over its completionTx to its end. */
async function run(work: (tx: CompletionTx, ctx: Context) => Promise<unknown>, maxAttempts = 1) {
  count += 1;
  const step = defineStep(`work-${count}`, { maxAttempts, backoff: 1 }, async (ctx) => {
    await work(await ctx.completionTx(), ctx);
  });
  const client = await testWorker(database, [step]);
  const job = await step.enqueue(client);
  const outcome = await job.wait();
  await client.stop();
  return { job, outcome };
}
const note = (tx: CompletionTx, text: string) => tx.query("insert into notes values ($1)", [text]);
const completionTxError = { code: "CYCLONE_COMPLETION_TX" };

describe("BEGIN, COMMIT and ROLLBACK on a completionTx", () => {
  it("act on a savepoint, so that an ORM's own transaction nests", async () => {
    const { outcome } = await run(async (tx) => {
      await note(tx, "before");
      await tx.query("BEGIN");
      await note(tx, "kept");
      await tx.query("COMMIT");
      await tx.query("begin;");
      await note(tx, "undone");
      await tx.query("ROLLBACK");
      await note(tx, "after");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["after", "before", "kept"]);
  });

  it("nest within each other, in any of their spellings", async () => {
    const { outcome } = await run(async (tx) => {
      await tx.query("START TRANSACTION ISOLATION LEVEL SERIALIZABLE");
      await note(tx, "outer");
      await tx.query("/* by an ORM */ begin transaction read write");
      await note(tx, "inner");
      await tx.query("-- undo\nabort");
      await tx.query("BEGIN WORK");
      await note(tx, "second");
      await tx.query({ text: "end" });
      await tx.query("commit and no chain");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["outer", "second"]);
  });

  it("bring the transaction back after a failed statement", async () => {
    const { outcome } = await run(async (tx) => {
      await note(tx, "before");
      await tx.query("begin");
      await expect(tx.query("insert into missing values (1)")).rejects.toMatchObject({ code: "42P01" });
      await tx.query("rollback");
      await note(tx, "after");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["after", "before"]);
  });

  it("undo what failed and was committed all the same, as COMMIT of a transaction does, and say so by the tag", async () => {
    const { outcome } = await run(async (tx) => {
      await note(tx, "before");
      await tx.query("begin");
      await note(tx, "outer");
      await tx.query("begin");
      await note(tx, "undone");
      await expect(tx.query("insert into missing values (1)")).rejects.toMatchObject({ code: "42P01" });
      // A transaction that couldn't be begun isn't ended by the next COMMIT.
      await expect(tx.query("begin")).rejects.toMatchObject({ code: "25P02" });
      expect((await tx.query("commit")).command).toBe("ROLLBACK");
      expect((await tx.query("commit")).command).toBe("RELEASE");
      await note(tx, "after");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["after", "before", "outer"]);
  });

  it("can't change the isolation level, which is that of the whole", async () => {
    const { outcome } = await run(async (tx) => {
      await tx.query("begin isolation level serializable");
      const { rows } = await tx.query("show transaction_isolation");
      expect(rows).toEqual([{ transaction_isolation: "read committed" }]);
      await expect(tx.query("set transaction isolation level serializable")).rejects.toMatchObject({ code: "25001" });
      await tx.query("rollback");
    });
    expect(outcome).toMatchObject({ state: "completed" });
  });

  it("may have a statement's name, and give one result each", async () => {
    const { outcome } = await run(async (tx) => {
      const results: string[] = [];
      const send = async (text: string) => results.push((await tx.query({ name: `named ${text}`, text })).command);
      for (const text of ["begin", "begin", "rollback", "commit", "begin", "rollback"]) await send(text);
      expect(results).toEqual(["SAVEPOINT", "SAVEPOINT", "ROLLBACK", "RELEASE", "SAVEPOINT", "ROLLBACK"]);
      await note(tx, "kept");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["kept"]);
  });

  it("leave the user's own savepoints alone", async () => {
    const { outcome } = await run(async (tx) => {
      await tx.query("savepoint mine");
      await note(tx, "undone");
      await tx.query("rollback to savepoint mine");
      await tx.query("rollback work to mine");
      await note(tx, "kept");
      await tx.query("release savepoint mine");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["kept"]);
  });

  it("without a BEGIN before them are refused: the transaction is the engine's to end", async () => {
    for (const text of ["commit", "ROLLBACK", "end", "abort", "/* x */ Commit ;"]) {
      await database.query("truncate notes");
      const { outcome } = await run(async (tx) => {
        await note(tx, "kept");
        await expect(tx.query(text), text).rejects.toMatchObject(completionTxError);
        await note(tx, "kept, too");
      });
      expect(outcome, text).toMatchObject({ state: "completed" });
      expect(await notes(), text).toEqual(["kept", "kept, too"]);
    }
  });

  it("can't be chained, prepared or hidden at the front of several statements", async () => {
    const { outcome } = await run(async (tx) => {
      for (const text of [
        "begin; select 1",
        "commit; begin",
        "prepare transaction 'x'",
        "commit and chain",
        "rollback and chain; select 1",
      ]) {
        await expect(tx.query(text), text).rejects.toMatchObject(completionTxError);
      }
      await note(tx, "kept");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["kept"]);
  });
});

describe("a transaction that was ended behind the engine's back", () => {
  it("fails the attempt loudly, and the step isn't completed", async () => {
    const { job, outcome } = await run(async (tx) => {
      await note(tx, "escaped");
      await tx.query("select 1; commit; begin");
      await note(tx, "in another transaction");
    });
    expect(outcome).toMatchObject({
      state: "failed",
      error: { ...completionTxError, message: expect.stringContaining("behind") },
    });
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 1, output: null });
    // What was committed behind its back stays; the rest isn't.
    expect(await notes()).toEqual(["escaped"]);
  });

  it("is noticed also where no other one was begun", async () => {
    const { outcome } = await run(async (tx) => {
      await tx.query("select 1; rollback");
      await note(tx, "outside of any transaction");
    });
    expect(outcome).toMatchObject({ state: "failed", error: completionTxError });
  });

  it("is noticed when a query object of the driver's ends it", async () => {
    const { outcome } = await run(async (tx) => {
      await new Promise<void>((resolve, reject) => {
        const query = new pg.Query("commit");
        query.on("end", () => resolve());
        query.on("error", reject);
        tx.query(query);
      });
    });
    expect(outcome).toMatchObject({ state: "failed", error: completionTxError });
  });

  it("is a failed attempt like another: the next one can complete", async () => {
    const { job, outcome } = await run(async (tx, ctx) => {
      if (ctx.attempt === 1) await tx.query("select 1; commit");
      await note(tx, `attempt ${ctx.attempt}`);
    }, 3);
    expect(outcome).toMatchObject({ state: "completed" });
    expect((await attemptRows(database, job.id)).map(({ outcome: how, attempt }) => [how, attempt])).toEqual([
      ["failed", 1],
    ]);
  });
});

describe("a statement that failed in the transaction and was swallowed", () => {
  it("fails the attempt, since nothing of it could commit", async () => {
    const { outcome } = await run(async (tx) => {
      await note(tx, "lost");
      await tx.query("select 1 / 0").catch(() => undefined);
    });
    expect(outcome).toMatchObject({ state: "failed", error: completionTxError });
    expect(await notes()).toEqual([]);
  });

  it("shows at the commit where the database checks only then", async () => {
    await database.query("create table parents (id int primary key)");
    await database.query("create table children (parent int references parents deferrable initially deferred)");
    const { outcome } = await run(async (tx) => {
      await tx.query("insert into children values (7)");
    });
    expect(outcome).toMatchObject({ state: "failed", error: { code: "23503" } });
    expect((await database.query("select * from children")).rows).toEqual([]);
  });
});

describe("a completionTx as a client of pg", () => {
  it("takes texts, values, configs, row modes, callbacks and prepared statements", async () => {
    const { outcome } = await run(async (tx) => {
      expect((await tx.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      expect((await tx.query("select $1::int as n", [2])).rows).toEqual([{ n: 2 }]);
      expect((await tx.query({ text: "select $1::int as n", values: [3], rowMode: "array" })).rows).toEqual([[3]]);
      for (const n of [4, 5]) {
        expect((await tx.query({ name: "named", text: "select $1::int as n", values: [n] })).rows).toEqual([{ n }]);
      }
      const rows = await new Promise((resolve, reject) => {
        tx.query("select 6 as n", (error: Error, result: pg.QueryResult) =>
          error ? reject(error) : resolve(result.rows),
        );
      });
      expect(rows).toEqual([{ n: 6 }]);
      const error = await new Promise((resolve) => {
        tx.query("savepoint s", () => tx.query("select nope", [], (failure: Error) => resolve(failure)));
      });
      expect(error).toMatchObject({ code: "42703" });
      await tx.query("rollback to s");
    });
    expect(outcome).toMatchObject({ state: "completed" });
  });

  it("runs queries that aren't waited for one after the other, and all before the completion", async () => {
    const { outcome } = await run(async (tx) => {
      const writes = ["a", "b", "c"].map((text) => note(tx, text));
      void Promise.all(writes);
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["a", "b", "c"]);
  });

  it("isn't released by release(), nor ended by end()", async () => {
    const { outcome } = await run(async (tx) => {
      await note(tx, "one");
      tx.release();
      tx.release(true);
      await (tx as unknown as pg.Client).end();
      await note(tx, "two");
    });
    expect(outcome).toMatchObject({ state: "completed" });
    expect(await notes()).toEqual(["one", "two"]);
  });

  it("is closed once the handler has settled", async () => {
    const kept = latch<CompletionTx>();
    await run(async (tx) => {
      await note(tx, "inside");
      kept.open(tx);
    });
    const tx = await kept.opened;
    await expect(note(tx, "outside")).rejects.toMatchObject(completionTxError);
    expect(await notes()).toEqual(["inside"]);
  });

  it("that is asked for only then is refused, and holds no connection", async () => {
    const late = latch<Promise<unknown>>();
    const floating = defineStep("floating", (ctx) => {
      setTimeout(() => late.open(ctx.completionTx().catch((error: unknown) => error)), 50);
    });
    const client = testClient(database, { handlers: [floating] });
    await client.start();
    await (await floating.enqueue(client)).result();
    expect(await late.opened).toMatchObject(completionTxError);
    await client.stop();
    const { rows } = await database.query("select from pg_stat_activity where state like 'idle in transaction%'");
    expect(rows).toEqual([]);
  });

  it("whose query, not awaited, doesn't end, fails the attempt in bounded time", async () => {
    const blocker = await database.pool.connect();
    try {
      await blocker.query("begin; lock table notes in access exclusive mode");
      const hanging = defineStep("hanging", { maxAttempts: 1 }, async (ctx) => {
        const tx = await ctx.completionTx();
        void note(tx, "never").catch(() => undefined);
      });
      const client = testClient(database, { handlers: [hanging], leaseTtl: "3s" });
      await client.start();
      const job = await hanging.enqueue(client);
      expect(await job.wait()).toMatchObject({
        state: "failed",
        error: { code: "CYCLONE_COMPLETION_TX", message: expect.stringContaining("await it") },
      });
      await client.stop();
    } finally {
      await blocker.query("rollback");
      blocker.release();
    }
    expect(await notes()).toEqual([]);
  });

  it("that failed is closed as well, and its connection serves the next step clean", async () => {
    const kept = latch<CompletionTx>();
    const dirty = defineStep("dirty", { maxAttempts: 1 }, async (ctx) => {
      const tx = await ctx.completionTx();
      await tx.query("set local statement_timeout = '123s'");
      await tx.query("create temp table leftovers (x int) on commit drop");
      kept.open(tx);
      throw new Error("failed");
    });
    const clean = defineStep("clean", async (ctx) => {
      const { rows } = await (await ctx.completionTx()).query(
        "select current_setting('statement_timeout') as timeout, to_regclass('pg_temp.leftovers') as leftovers",
      );
      return rows[0] as { timeout: string; leftovers: string | null };
    });
    const client = testClient(database, { handlers: [dirty, clean] });
    await client.start();
    await (await dirty.enqueue(client)).wait();
    await expect(note(await kept.opened, "outside")).rejects.toMatchObject(completionTxError);
    expect(await (await clean.enqueue(client)).result()).toEqual({ timeout: "0", leftovers: null });
    await eventually(async () => {
      const { rows } = await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      );
      expect(rows).toEqual([]);
    });
  });
});
