import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow, from, type JsonValue, lit } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Gives back what it was given, and says what that was. */
const echo = defineStep("echo", { payload: "unchecked" }, async (_ctx, value: unknown) => ({
  got: value as JsonValue,
  type: value === undefined ? "undefined" : value === null ? "null" : Array.isArray(value) ? "array" : typeof value,
}));
const give = defineStep("give", { payload: "unchecked" }, async (_ctx, value: JsonValue) => value);
const nothing = defineStep("nothing", async () => {});
const handlers = [echo, give, nothing];

interface Page {
  url: string;
  links: { href: string; text: string | null }[];
  note?: string;
}
const page: Page = {
  url: "u",
  links: [
    { href: "a", text: null },
    { href: "b", text: "B" },
  ],
};
const fetchPage = defineStep("fetch-page", async (): Promise<Page> => page);

describe("a future as an input", () => {
  it("is the upstream's whole output", async () => {
    const client = await testWorker(database, [...handlers, fetchPage]);
    const workflow = defineWorkflow("whole", (b) => echo.do(b, fetchPage.do(b)).get("got"));
    expect(await (await workflow.submit(client)).result()).toEqual(page);
  });

  it("projected by get(), is that part only", async () => {
    const client = await testWorker(database, [...handlers, fetchPage]);
    const workflow = defineWorkflow("parts", (b) => {
      const future = fetchPage.do(b);
      return echo.do(b, {
        url: future.get("url"),
        second: future.get("links", 1),
        text: future.get("links", 0, "text"),
        deep: { in: [future.get("links", 1, "href"), "literal"] },
      });
    });
    const run = await workflow.submit(client);
    expect(await run.result()).toEqual({
      got: { url: "u", second: { href: "b", text: "B" }, text: null, deep: { in: ["b", "literal"] } },
      type: "object",
    });
    const declared = JSON.stringify((await stepRow(database, run.id, "echo")).input);
    expect(declared).toContain('"$future":"fetch-page"');
    // The row has the references; what they lead to is bound at the call and stored nowhere.
    expect(declared).not.toContain('href":"b"');
  });

  it("whose path misses is undefined: the property is left out, and an element of a list is undefined", async () => {
    const seen: unknown[] = [];
    const look = defineStep("look", { payload: "unchecked" }, async (_ctx, value: unknown) => void seen.push(value));
    const client = await testWorker(database, [look, fetchPage]);
    const workflow = defineWorkflow("misses", (b) => {
      const future = fetchPage.do(b);
      look.do(b, { note: future.get("note"), far: future.get("links", 7, "href"), url: future.get("url") });
      look.do(b, [future.get("note"), 1], { after: [future] });
      look.do(b, future.get("note"), { name: "alone" });
    });
    await (await workflow.submit(client)).wait();
    expect(seen).toHaveLength(3);
    expect(seen).toContainEqual({ url: "u" });
    expect(seen).toContain(undefined);
    const list = seen.find((value) => Array.isArray(value));
    expect(list).toStrictEqual([undefined, 1]);
  });

  it("comes with as many others as one likes, each in its place", async () => {
    const client = await testWorker(database, handlers, { concurrency: 20 });
    const width = 300;
    const workflow = defineWorkflow("gathered", (b) =>
      give.do(
        b,
        Array.from({ length: width }, (_, i) => ({ i, value: give.do(b, `v${i}`) })),
        { name: "gather" },
      ),
    );
    const result = await (await workflow.submit(client)).result();
    expect(result).toEqual(Array.from({ length: width }, (_, i) => ({ i, value: `v${i}` })));
  });

  it("used in several places travels to each", async () => {
    const client = await testWorker(database, handlers);
    const workflow = defineWorkflow("repeated", (b) => {
      const one = give.do(b, { a: [1] });
      return echo.do(b, { x: one, y: [one, one.get("a" as never)], z: one });
    });
    const { got } = await (await workflow.submit(client)).result();
    expect(got).toEqual({ x: { a: [1] }, y: [{ a: [1] }, [1]], z: { a: [1] } });
  });

  it("and after make edges of both kinds, and order the calls", async () => {
    const calls: string[] = [];
    const note = defineStep("ordered", (ctx) => void calls.push(ctx.node));
    const client = await testWorker(database, [note]);
    const workflow = defineWorkflow("ordered", (b) => {
      const a = note.do(b, undefined, { name: "a" });
      const c = note.do(b, undefined, { name: "c", after: [a] });
      const d = note.do(b, undefined, { name: "d", after: [a] });
      note.do(b, undefined, { name: "e", after: [c, d] });
    });
    await (await workflow.submit(client)).result();
    expect(calls[0]).toBe("a");
    expect(calls.slice(1, 3).sort()).toEqual(["c", "d"]);
    expect(calls[3]).toBe("e");
  });
});

describe("a literal", () => {
  it("that looks like a reference is taken as it is", async () => {
    const client = await testWorker(database, handlers);
    const tricky = { $future: "give", ref: 0, path: ["x"] };
    const workflow = defineWorkflow("tricky", (b) => {
      const one = give.do(b, 1);
      return give.do(b, { real: one, fake: tricky, nested: [{ $literal: tricky }], lit: lit(tricky) });
    });
    const result = await (await workflow.submit(client)).result();
    expect(result).toEqual({ real: 1, fake: tricky, nested: [{ $literal: tricky }], lit: tricky });
    const alone = await give.enqueue(client, tricky);
    expect(await alone.result()).toEqual(tricky);
    expect(await alone.node("give").input()).toEqual(tricky);
  });

  it("marked by lit() and a future marked by from() are what they'd be without", async () => {
    const client = await testWorker(database, handlers);
    const workflow = defineWorkflow("marked", (b) => give.do(b, { a: lit({ b: [1] }), c: from(give.do(b, lit("x"))) }));
    expect(await (await workflow.submit(client)).result()).toEqual({ a: { b: [1] }, c: "x" });
  });

  it("with keys such as __proto__ stays plain data", async () => {
    const client = await testWorker(database, handlers);
    const hostile = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}, "toString": 2, "": 3}',
    );
    const workflow = defineWorkflow("hostile", (b) => give.do(b, { hostile: give.do(b, hostile), plain: hostile }));
    const result = (await (await workflow.submit(client)).result()) as Record<string, object>;
    for (const copy of [result["hostile"], result["plain"]]) {
      expect(Object.keys(copy ?? {}).sort()).toEqual(["", "__proto__", "constructor", "toString"]);
      expect(Object.getOwnPropertyDescriptor(copy, "__proto__")?.value).toEqual({ polluted: true });
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("every shape of JSON", () => {
  const shapes: JsonValue[] = [
    [],
    [1, "a", null],
    [[1]],
    "text",
    "",
    "null",
    "{}",
    "5",
    '"',
    0,
    -1.5e-7,
    1e21,
    9_007_199_254_740_991,
    false,
    true,
    null,
    {},
    { "": [] },
    { a: { b: [{}, [], null, "\n\t\u2028\u001f\\"] } },
    "😀 é ﷽ \u{10ffff}",
  ];

  it("arrives at the handler, the dependent, the waiter and the reader as it was given", async () => {
    const client = await testWorker(database, handlers);
    const through = defineWorkflow("through", { payload: "unchecked" }, (b, value: JsonValue) => {
      const given = give.do(b, value);
      return echo.do(b, given);
    });
    const runs = await through.submitMany(client, shapes);
    for (const [i, run] of runs.entries()) {
      const shape = shapes[i];
      const type = shape === null ? "null" : Array.isArray(shape) ? "array" : typeof shape;
      expect(await run.result(), JSON.stringify(shape)).toStrictEqual({ got: shape, type });
      expect(await run.node("give").input()).toStrictEqual(shape);
      expect(await run.node("give").output()).toStrictEqual(shape);
    }
  });

  it("can be the result of a job", async () => {
    const client = await testWorker(database, handlers);
    const jobs = await give.enqueueMany(client, shapes);
    expect(await Promise.all(jobs.map((job) => job.result()))).toStrictEqual(shapes);
    expect(await Promise.all(jobs.map((job) => job.output()))).toStrictEqual(shapes);
  });
});

describe("null, undefined and no output", () => {
  const nil = defineStep("nil", async () => null);
  const undef = defineStep("undef", async () => undefined);
  const act = defineAction("act", async () => {});
  const all = [nil, undef, act, echo];
  const kinds = defineWorkflow("kinds", (b) => {
    const [a, c] = [nil.do(b), undef.do(b)];
    const done = act.do(b);
    echo.do(b, a, { name: "of-null" });
    echo.do(b, c, { name: "of-undefined" });
    echo.do(b, { null: a, undefined: c }, { name: "of-both" });
    echo.do(b, "after an action", { name: "after-action", after: [done] });
  });

  const check = async (run: Awaited<ReturnType<typeof kinds.submit>>): Promise<void> => {
    expect(await run.wait()).toMatchObject({ state: "completed" });
    expect(await run.node("of-null").output()).toEqual({ got: null, type: "null" });
    expect(await run.node("of-undefined").output()).toEqual({ type: "undefined" });
    expect(await run.node("of-both").output()).toEqual({ got: { null: null }, type: "object" });
    expect(await run.node("after-action").output()).toEqual({ got: "after an action", type: "string" });
    expect(await run.node("nil").output()).toBeNull();
    expect(await run.node("undef").output()).toBeUndefined();
    expect(await run.node("act").output()).toBeUndefined();
  };

  it("are told apart by dependents", async () => {
    const client = await testWorker(database, all);
    await check(await kinds.submit(client));
  });

  it("are told apart also when another worker runs the dependents later", async () => {
    const first = await testWorker(database, [nil, undef, act]);
    const run = await kinds.submit(first);
    await first.drain();
    await first.stop();
    await testWorker(database, [echo]);
    await check(testClient(database).run(run.id, kinds));
  });

  it("are told apart by waiters and readers, and in the row", async () => {
    const client = await testWorker(database, all);
    const [a, c, d] = [await nil.enqueue(client), await undef.enqueue(client), await act.enqueue(client)];
    expect(await a.result()).toBeNull();
    expect(await c.result()).toBeUndefined();
    expect(await d.result()).toBeUndefined();
    expect([await a.output(), await c.output(), await d.output()]).toEqual([null, undefined, undefined]);
    const { rows } = await database.query(
      "select step, output is null as no_output, output::text as text from cyclone_steps where run_id = any ($1::uuid[]) order by step",
      [[a.id, c.id, d.id]],
    );
    expect(rows).toEqual([
      { step: "act", no_output: true, text: null },
      { step: "nil", no_output: false, text: "null" },
      { step: "undef", no_output: true, text: null },
    ]);
  });

  it("leave an undefined property out, and give a step without an input undefined", async () => {
    const seen: unknown[] = [];
    const look = defineStep("look-in", { payload: "unchecked" }, async (_ctx, value: unknown) => void seen.push(value));
    const client = await testWorker(database, [look]);
    await (await look.enqueue(client, { a: undefined, b: 1 })).result();
    await (await look.enqueue(client, undefined)).result();
    await (await look.enqueue(client, null)).result();
    expect(seen).toStrictEqual([{ b: 1 }, undefined, null]);
  });
});
