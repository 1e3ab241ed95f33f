import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { Discard, defineAction, defineStep, defineWorkflow, type Run } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const fail = defineStep("fail", async (_ctx, message: string): Promise<number> => {
  throw new Discard(message);
});
const act = defineAction("act", async (_ctx, _n: number) => {});
const plus = defineWorkflow("plus", (b, n: number) => add.do(b, add.do(b, n)));
const failing = defineWorkflow("failing", (b) => fail.do(b, "no luck"));
const silent = defineWorkflow("silent", (b) => void add.do(b, 1));
const handlers = [add, fail, act];

const notCompleted = (state: string) => ({ code: "CYCLONE_RUN_NOT_COMPLETED", state });

/** A run as only a cancel could leave it. */
async function cancelledRun(client: ReturnType<typeof testClient>): Promise<Run<number>> {
  const run = await plus.submit(client, 1, { delay: "1h" });
  await database.query(
    "update cyclone_steps set state = 'cancelled', finished_at = statement_timestamp() where run_id = $1",
    [run.id],
  );
  await database.query(
    "update cyclone_runs set state = 'cancelled', remaining = 0, finished_at = statement_timestamp() where id = $1",
    [run.id],
  );
  return run;
}

describe("result()", () => {
  it("waits, and gives the output of the node that the builder returned", async () => {
    const client = await testWorker(database, handlers);
    expect(await (await plus.submit(client, 1)).result()).toBe(3);
    expect(await (await add.enqueue(client, 1)).result()).toBe(2);
  });

  it("gives undefined where there is no result", async () => {
    const client = await testWorker(database, handlers);
    expect(await (await silent.submit(client)).result()).toBeUndefined();
    expect(await (await act.enqueue(client, 1)).result()).toBeUndefined();
  });

  it("of a failed run throws, with the state and the stored error", async () => {
    const client = await testWorker(database, handlers);
    const run = await failing.submit(client);
    await expect(run.result()).rejects.toMatchObject({
      ...notCompleted("failed"),
      runId: run.id,
      error: { name: "Discard", message: "no luck", node: "fail" },
    });
  });

  it("of a cancelled run throws", async () => {
    const run = await cancelledRun(testClient(database));
    await expect(run.result()).rejects.toMatchObject(notCompleted("cancelled"));
  });

  it("of a run whose result is a projection gives that part, and undefined where it misses", async () => {
    const page = defineStep("page", async () => ({ links: [{ href: "a" }, { href: "b" }] }));
    const hit = defineWorkflow("hit", (b) => page.do(b).get("links", 1, "href"));
    const miss = defineWorkflow("miss", (b) => page.do(b).get("links", 9, "href"));
    const client = await testWorker(database, [page]);
    const run = await hit.submit(client);
    expect(await run.result()).toBe("b");
    expect(await run.output()).toBe("b");
    const { rows } = await database.query("select result_node from cyclone_runs where id = $1", [run.id]);
    expect(rows).toEqual([{ result_node: "page" }]);
    expect(await (await miss.submit(client)).result()).toBeUndefined();
  });
});

describe("wait()", () => {
  it("gives the terminal state and time, never the output", async () => {
    const client = await testWorker(database, handlers);
    const outcome = await (await plus.submit(client, 1)).wait();
    expect(outcome).toEqual({ state: "completed", finishedAt: expect.any(Date) });
    expect(Math.abs(Number(outcome.finishedAt) - Date.now())).toBeLessThan(60_000);
  });

  it("doesn't throw for a failed run, and tells why it failed", async () => {
    const client = await testWorker(database, handlers);
    expect(await (await failing.submit(client)).wait()).toEqual({
      state: "failed",
      finishedAt: expect.any(Date),
      error: expect.objectContaining({ name: "Discard", message: "no luck", node: "fail" }),
    });
  });

  it("doesn't throw for a cancelled run", async () => {
    const run = await cancelledRun(testClient(database));
    expect(await run.wait()).toEqual({ state: "cancelled", finishedAt: expect.any(Date) });
  });
});

describe("output()", () => {
  it("doesn't wait: a run that isn't completed has none", async () => {
    const client = testClient(database);
    const run = await plus.submit(client, 1);
    await expect(run.output()).rejects.toMatchObject(notCompleted("running"));
    await expect((await cancelledRun(client)).output()).rejects.toMatchObject(notCompleted("cancelled"));
    await testWorker(database, handlers);
    expect(await run.result()).toBe(3);
    expect(await run.output()).toBe(3);
    const failed = await failing.submit(client);
    await failed.wait();
    await expect(failed.output()).rejects.toMatchObject(notCompleted("failed"));
  });
});

describe("an abort of a wait", () => {
  it("rejects with the signal's reason at once, and the run goes on", async () => {
    const gate = latch();
    const held = defineStep("held", async () => {
      await gate.opened;
      return "done";
    });
    const client = await testWorker(database, [held]);
    const run = await held.enqueue(client);
    for (const method of ["result", "wait"] as const) {
      const controller = new AbortController();
      const waiting = run[method]({ signal: controller.signal });
      const reason = new Error(`enough of ${method}`);
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      await expect(run[method]({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    }
    await expect(run.wait({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await run.state()).toBe("running");
    const other = run.result();
    gate.open();
    expect(await other).toBe("done");
  });

  it("leaves no listener on the signal, however the wait ended", async () => {
    const client = await testWorker(database, handlers);
    const controller = new AbortController();
    const run = await plus.submit(client, 1);
    await Promise.all([run.result(controller), run.wait(controller), run.wait({ signal: controller.signal })]);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });
});

describe("a run that doesn't exist", () => {
  it("is an error of every read, by a well-formed id or any other text", async () => {
    const client = testClient(database);
    for (const id of ["01890000-0000-7000-8000-000000000000", "not-an-id", "", "'; drop table cyclone_runs; --"]) {
      const run = client.run(id);
      const reads = [
        () => run.result(),
        () => run.wait(),
        () => run.output(),
        () => run.state(),
        () => run.nodes(),
        () => run.graph(),
        () => run.node("x").state(),
        () => run.node("x").input(),
        () => run.node("x").output(),
      ];
      for (const read of reads)
        await expect(read(), `${id} ${String(read)}`).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    }
  });
});

describe("client.run(id, definition)", () => {
  it("makes a handle without a query, from an id in either case", async () => {
    const client = await testWorker(database, handlers);
    const run = await plus.submit(client, 1);
    const nowhere = testClient({ url: "postgres://postgres@127.0.0.1:1/none" });
    expect(nowhere.run(run.id, plus).id).toBe(run.id);
    expect(await client.run(run.id.toUpperCase(), plus).result()).toBe(3);
    expect(await testClient(database).run(run.id).result()).toBe(3);
  });

  it("refuses, when it is first read, a run of another definition", async () => {
    const client = await testWorker(database, handlers);
    const run = await plus.submit(client, 1);
    await run.wait();
    const wrong = [client.run(run.id, failing), client.run(run.id, add)];
    for (const handle of wrong) {
      const reads = [() => handle.result(), () => handle.wait(), () => handle.output(), () => handle.state()];
      for (const read of reads) {
        await expect(read(), String(read)).rejects.toMatchObject({
          code: "CYCLONE_INVALID_OPTION",
          message: expect.stringContaining('"plus"'),
        });
      }
    }
    expect(() => client.run(run.id, {} as never)).toThrowError(
      expect.objectContaining({ code: "CYCLONE_INVALID_OPTION" }),
    );
  });
});

describe("nodes(), node() and graph()", () => {
  it("tell of every node in the order of the build, without payloads", async () => {
    const client = await testWorker(database, handlers);
    const mixed = defineWorkflow("mixed", (b) => {
      const bad = fail.do(b, "broken");
      act.do(b, bad);
      return add.do(b, 1);
    });
    const run = await mixed.submit(client);
    await run.wait();
    const error = { name: "Discard", message: "broken" };
    expect(await run.nodes()).toEqual([
      {
        name: "fail",
        kind: "step",
        step: "fail",
        state: "discarded",
        attempt: 1,
        reclaims: 0,
        error: expect.objectContaining(error),
      },
      { name: "act", kind: "action", step: "act", state: "cancelled", attempt: 0, reclaims: 0, error: null },
      { name: "add", kind: "step", step: "add", state: "completed", attempt: 1, reclaims: 0, error: null },
    ]);
    expect(await run.graph()).toMatchObject({
      edges: [{ from: "fail", to: "act", kind: "data" }],
      result: "add",
      resultPath: [],
    });
  });

  it("give any node's declared input and output to any caller, while the run goes on", async () => {
    const gate = latch();
    const last = defineStep("last", async () => gate.opened);
    const partly = defineWorkflow("partly", (b, n: number) => void last.do(b, undefined, { after: [add.do(b, n)] }));
    const client = await testWorker(database, [add, last]);
    const run = await partly.submit(client, 41);
    await eventually(async () => expect(await run.node("last").state()).toBe("running"));
    const elsewhere = testClient(database).run(run.id);
    expect(await elsewhere.node("add").state()).toBe("completed");
    expect(await elsewhere.node("add").input()).toBe(41);
    expect(await elsewhere.node("add").output()).toBe(42);
    expect(await elsewhere.node("last").output()).toBeUndefined();
    gate.open();
    await run.wait();
  });

  it("say which node there isn't", async () => {
    const client = testClient(database);
    const run = await plus.submit(client, 1);
    await expect(run.node("nope").state()).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      message: expect.stringContaining('"nope"'),
    });
  });
});
