import { describe, expect, it } from "vitest";
import { createClient, defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRow, stepRows } from "../support/engine-rows.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Texts that anything which takes names for more than data stumbles over. */
const names = [
  "x'; DROP TABLE cyclone_runs; --",
  'a"b',
  "a\\b",
  "%s %d %I %L",
  "$1",
  "line\nbreak\r\n\ttab",
  "/* comment */ -- ",
  "{braces,and,commas}",
  "__proto__",
  "constructor",
  "NULL",
  " leading and trailing ",
  "élève 名前 😀 \u202e",
  "é".normalize("NFD"),
  "n".repeat(200),
  "😀".repeat(200),
];

/** A node's name that is no step's, within the limit of 200 code points. */
const nodeName = (name: string): string => `${Array.from(name).slice(0, 190).join("")}!`;

describe("a name", () => {
  it("of a step, node, queue or tag is data, whatever it holds, from the submit to the reader", async () => {
    const steps = names.map((name) =>
      defineStep(name, { queue: name }, async (ctx, text: string) => [ctx.step, ctx.node, text]),
    );
    const workflow = defineWorkflow(names[0] ?? "", (b) => {
      for (const [i, step] of steps.entries()) step.do(b, names[i] ?? "", { name: nodeName(names[i] ?? "") });
    });
    const client = await testWorker(database, steps);
    const run = await workflow.submit(client, undefined, { tags: names });
    expect(await run.wait()).toMatchObject({ state: "completed" });
    for (const [i, row] of (await stepRows(database, run.id)).entries()) {
      const name = names[i] ?? "";
      const node = nodeName(name);
      expect(row).toMatchObject({ step: name, queue: name, node, input: name, output: [name, node, name] });
      expect(await run.node(node).output()).toEqual([name, node, name]);
    }
    const { rows } = await database.query("select name, workflow, tags from cyclone_runs where id = $1", [run.id]);
    expect(rows).toEqual([{ name: names[0], workflow: names[0], tags: names }]);
    expect((await run.nodes()).map((node) => node.step)).toEqual(names);
  });

  it("is data to lists, counts and pauses as well", async () => {
    const client = testClient(database);
    for (const name of names.map(nodeName)) {
      const step = defineStep(name, { queue: name }, async () => {});
      const tags = [`a ${name}`];
      const { id } = await step.enqueue(client, undefined, { delay: "1h", tags });
      await database.query("update cyclone_runs set error = jsonb_build_object('message', $2::text) where id = $1", [
        id,
        tags[0],
      ]);
      for (const filter of [
        { definition: step.name },
        { step: step.name },
        { queue: name },
        { tags },
        { error: tags[0] ?? "" },
      ]) {
        const found = (await client.runs.list(filter)).runs.map((run) => run.id);
        expect(found, JSON.stringify(filter)).toContain(id);
        if (!("error" in filter)) expect(found, JSON.stringify(filter)).toEqual([id]);
      }
      await client.queues.pause(name);
      expect(await client.queues.list()).toContainEqual(expect.objectContaining({ name, paused: true, scheduled: 1 }));
      await client.queues.resume(name);
      expect((await client.stats()).steps).toContainEqual(
        expect.objectContaining({ queue: name, step: name, scheduled: 1 }),
      );
    }
  });

  it("of a job is the same, and its queue can be chosen by the option queues", async () => {
    const [odd] = names as [string];
    const job = defineAction(odd, async () => {});
    const client = await testWorker(database, [job], { queues: { [odd]: 1 } });
    const run = await job.enqueue(client, undefined, { queue: odd, idempotencyKey: odd });
    expect((await run.wait()).state).toBe("completed");
    expect(await stepRow(database, run.id)).toMatchObject({ queue: odd, node: odd });
  });

  it("is compared byte by byte: case, spaces and normal forms make another name", async () => {
    const variants = ["same", "Same", "same ", "sāme", "sāme".normalize("NFD")];
    const steps = variants.map((name, i) => defineStep(name, async () => i));
    const client = await testWorker(database, steps);
    const results = await Promise.all(steps.map(async (step) => (await step.enqueue(client)).result()));
    expect(results).toEqual([0, 1, 2, 3, 4]);
    const cased = defineWorkflow("cased", (b) => {
      steps[0]?.do(b, undefined, { name: "node" });
      steps[0]?.do(b, undefined, { name: "Node" });
    });
    expect((await stepRows(database, (await cased.submit(client)).id)).map((row) => row.node)).toEqual([
      "node",
      "Node",
    ]);
  });

  it("of nothing, of more than 200 characters, of U+0000 or of half a character is refused where it is given", () => {
    const refused = expect.objectContaining({ code: "CYCLONE_INVALID_OPTION" });
    const client = (queues: object) => () => createClient({ connection: database.url, queues });
    const build = (name: string) => () => defineWorkflow("w", (b) => void good.do(b, undefined, { name })).plan();
    const good = defineStep("good", async () => {});
    for (const name of ["", "n".repeat(201), "😀".repeat(201), "a\0b", "\ud83d", "x\udc00y", 5 as never]) {
      expect(() => defineStep(name, async () => {}), name).toThrowError(refused);
      expect(() => defineAction(name, async () => {}), name).toThrowError(refused);
      expect(() => defineWorkflow(name, () => {}), name).toThrowError(refused);
      expect(() => defineStep("ok", { queue: name }, async () => {}), name).toThrowError(refused);
      expect(build(name), name).toThrowError(refused);
      if (typeof name === "string") expect(client({ [name]: 1 }), name).toThrowError(refused);
    }
    expect(build("item[3]")).toThrowError(refused);
  });
});

describe("no statement's text", () => {
  it("ever contains a name, a key, a tag or a payload: all of them are parameters", async () => {
    const seen: string[] = [];
    const tx = await database.pool.connect();
    const marker = "needle-7f3a";
    const step = defineStep(`step-${marker}`, { queue: `queue-${marker}` }, async (_ctx, text: string) => text);
    const client = testClient(database);
    try {
      await tx.query("begin");
      const spy = {
        query: (text: string, values?: unknown[]) => {
          seen.push(text);
          return tx.query(text, values);
        },
      };
      await step.enqueue(client, `payload-${marker}`, {
        tx: spy,
        idempotencyKey: `key-${marker}`,
        tags: [`tag-${marker}`],
      });
      await tx.query("rollback");
    } finally {
      tx.release();
    }
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(seen.filter((text) => text.includes(marker))).toEqual([]);
  });
});
