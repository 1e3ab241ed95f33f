import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, type CompletionTx, type Context, createClient, defineStep } from "../../../src/index.ts";
import { attemptRows } from "../../support/engine-rows.ts";
import { recordingLog, testClient } from "../../support/test-client.ts";
import type { TestDatabase } from "../../support/test-database.ts";
import type { Bind, BoundLibrary } from "./library.ts";

class Undone extends Error {}

const follow = defineStep("follow", async (_ctx, _id: string) => {});

type Isolation = "read committed" | "repeatable read";
type Work = (bound: BoundLibrary, ctx: Context, tx: CompletionTx) => Promise<unknown>;

/** What each library must do when it is bound to a completionTx. */
export function describeCompletionTx(
  database: TestDatabase,
  orders: { readonly ids: () => Promise<string[]> },
  bind: Bind,
): void {
  let work: Work;
  const step = defineStep("work", { maxAttempts: 1 }, async (ctx, isolation: Isolation) => {
    const tx = await ctx.completionTx({ isolation });
    await work(bind(tx), ctx, tx);
  });
  let worker: Client;
  beforeAll(async () => {
    const { log } = recordingLog();
    worker = createClient({ connection: database.url, handlers: [step], pollInterval: "50ms", log });
    await worker.start();
  });
  afterAll(() => worker.stop());

  /** Runs one handler over the library to its end. */
  const run = async (handler: Work, isolation: Isolation = "read committed") => {
    work = handler;
    const job = await step.enqueue(worker, isolation);
    const { state, error } = await job.wait();
    return { job, state, error };
  };

  it("what it writes commits together with the completion", async () => {
    const { state } = await run(async (bound) => {
      await bound.insertOrder("a");
      await bound.insertOrder("b");
      expect(await orders.ids()).toEqual([]);
    });
    expect([state, await orders.ids()]).toEqual(["completed", ["a", "b"]]);
  });

  it("its own transaction is a savepoint: committed, it still rolls back with the step", async () => {
    const { state, error } = await run(async (bound) => {
      await bound.insertOrder("a");
      await bound.transaction((open) => open.insertOrder("b"));
      throw new Undone("after its commit");
    });
    expect([state, error?.message, await orders.ids()]).toEqual(["failed", "after its commit", []]);
  });

  it("its own transactions nest, and one that rolls back takes its own writes only", async () => {
    const { state } = await run(async (bound) => {
      await bound.insertOrder("before");
      await bound.transaction(async (open) => {
        await open.insertOrder("outer");
        await open.nested(async (within) => {
          await within.insertOrder("inner");
          await within.nested((deep) => deep.insertOrder("deep"));
        });
        const undone = open.nested(async (within) => {
          await within.insertOrder("inner, undone");
          await within.nested((deep) => deep.insertOrder("deep, undone"));
          throw new Undone();
        });
        await expect(undone).rejects.toThrow(Undone);
      });
      const undone = bound.transaction(async (open) => {
        await open.insertOrder("second, undone");
        await open.nested((within) => within.insertOrder("inner, undone"));
        throw new Undone();
      });
      await expect(undone).rejects.toThrow(Undone);
      await bound.insertOrder("after");
    });
    expect([state, await orders.ids()]).toEqual(["completed", ["after", "before", "deep", "inner", "outer"]]);
  });

  it("a statement that fails undoes its own transaction, and the handler can go on", async () => {
    const { state, error } = await run(async (bound) => {
      await bound.insertOrder("taken");
      const failing = bound.transaction(async (open) => {
        await open.insertOrder("undone");
        await open.insertOrder("taken");
      });
      await expect(failing).rejects.toThrow();
      // Also where the failure is swallowed inside: then its COMMIT undoes it, as COMMIT does. Some libraries tell, others don't.
      const swallowing = bound.transaction(async (open) => {
        await open.insertOrder("undone, too");
        await open.insertOrder("taken").catch(() => undefined);
      });
      await swallowing.catch(() => undefined);
      await bound.insertOrder("after");
    });
    expect([state, error, await orders.ids()]).toEqual(["completed", undefined, ["after", "taken"]]);
  });

  it("a start in it, or in a transaction within it, commits with the step", async () => {
    const starts: string[] = [];
    const client = testClient(database);
    const { state } = await run(async (bound, _ctx, tx) => {
      starts.push((await follow.enqueue(client, "plain", { tx })).id);
      await bound.transaction(async (open) => {
        starts.push((await follow.enqueue(client, "own", { tx: open.tx })).id);
      });
      const undone = bound.transaction(async (open) => {
        starts.push((await follow.enqueue(client, "undone", { tx: open.tx })).id);
        throw new Undone();
      });
      await expect(undone).rejects.toThrow(Undone);
    });
    const { rows } = await database.query("select id from cyclone_runs where id = any($1)", [starts]);
    expect([state, starts.length, rows.length]).toEqual(["completed", 3, 2]);
  });

  it("a serialization failure is an interruption, however the library wraps it: no attempt is charged", async () => {
    await database.query("insert into orders values ('raced', 1)");
    let calls = 0;
    const { state, job } = await run(async (bound) => {
      calls += 1;
      await bound.run("select cents from orders"); // takes the snapshot
      if (calls === 1) await database.query("update orders set cents = 2");
      await bound.transaction((open) => open.run("update orders set cents = cents + 10"));
    }, "repeatable read");
    expect([state, calls]).toEqual(["completed", 2]);
    expect((await attemptRows(database, job.id)).map((row) => row.outcome)).toEqual(["interrupted"]);
    expect((await database.query("select cents from orders")).rows).toEqual([{ cents: 12 }]);
  });

  it("leaves the connection as it was", async () => {
    const listeners: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { state } = await run(async (bound, _ctx, tx) => {
        const before = tx.listenerCount("error");
        await bound.transaction((open) => open.insertOrder(`order ${n}`));
        listeners.push(tx.listenerCount("error") - before);
      });
      expect(state).toBe("completed");
    }
    expect(listeners).toEqual([0, 0, 0]);
  });
}
