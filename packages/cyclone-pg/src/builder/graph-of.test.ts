import { describe, expect, test } from "vitest";
import { z } from "zod";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { InvalidPayloadError } from "../errors/invalid-payload-error.ts";
import type { Builder } from "./builder.ts";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { type DefinitionRuntime, definitionOf } from "./definition.ts";
import type { Future } from "./future.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { graphOf, graphOfSync, type SubmitDefaults } from "./graph-of.ts";

interface Page {
  readonly url: string;
  readonly title?: string;
  readonly links: readonly { readonly href: string }[];
}
const fetchPage = defineStep("fetch", (_ctx, url: string): Page => ({ url, links: [] }));
const save = defineStep("save", { queue: "db", priority: 3, maxAttempts: 5, timeout: "1m" }, (_ctx, page: Page) => ({
  id: page.url,
}));
const mail = defineAction("mail", { maxReclaims: Infinity }, (_ctx, _i: { to: string; id?: string }) => undefined);
const anything = defineStep("anything", (_ctx, value: unknown) => value);

const runtimeOf = (definition: unknown): DefinitionRuntime => {
  const runtime = definitionOf(definition);
  if (runtime === undefined) throw new Error("not a definition");
  return runtime;
};
/** The graph of a build, as a workflow named "w". */
const graph = (build: (b: Builder) => unknown, submit?: SubmitDefaults): Graph =>
  graphOf(runtimeOf(defineWorkflow("w", build as () => void)), undefined, submit) as Graph;
const nodeOf = (built: Graph, name: string): GraphNode => {
  const node = built.nodes.find((candidate) => candidate.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
};
const names = (built: Graph): string[] => built.nodes.map((node) => node.name);

describe("the graph of a workflow", () => {
  const built = graph((b) => {
    const page = fetchPage.do(b, "https://example.com");
    const receipt = save.do(b, page, { maxAttempts: 7, timeout: "5s" });
    mail.do(
      b,
      { to: "ops@example.com", id: receipt.get("id") },
      { after: [page, receipt], queue: "mail", priority: -1 },
    );
    return receipt.get("id");
  });

  test("has the nodes in the order of the build, with what was decided for them", () => {
    expect(built.nodes).toEqual([
      {
        key: 0,
        name: "fetch",
        kind: "step",
        step: "fetch",
        queue: "default",
        priority: 0,
        maxAttempts: 25,
        maxReclaims: 10,
        timeoutMs: null,
        input: '"https://example.com"',
        references: [],
        upstreams: [],
      },
      {
        key: 1,
        name: "save",
        kind: "step",
        step: "save",
        queue: "db",
        priority: 3,
        maxAttempts: 7,
        maxReclaims: 10,
        timeoutMs: 5000,
        input: '{"$future":"fetch","ref":0}',
        references: [{ key: 0, path: [] }],
        upstreams: [{ key: 0, data: true }],
      },
      {
        key: 2,
        name: "mail",
        kind: "action",
        step: "mail",
        queue: "mail",
        priority: -1,
        maxAttempts: 25,
        maxReclaims: null,
        timeoutMs: null,
        input: '{"to":"ops@example.com","id":{"$future":"save","path":["id"],"ref":0}}',
        references: [{ key: 1, path: ["id"] }],
        upstreams: [
          { key: 0, data: false },
          { key: 1, data: true },
        ],
      },
    ]);
  });

  test("has the future that the build returned as its result, a projection with its path", () => {
    expect(built.result).toEqual({ key: 1, path: ["id"] });
    expect(graph((b) => void fetchPage.do(b, "u")).result).toBeNull();
  });

  test("has an edge only where a future or `after` makes one, and one per pair of nodes", () => {
    const { nodes } = graph((b) => {
      const page = fetchPage.do(b, "u");
      fetchPage.do(b, "v");
      anything.do(b, [page, page.get("url"), { again: page }], { after: [page, page.get("title"), page] });
    });
    expect(nodes.map((node) => node.upstreams)).toEqual([[], [], [{ key: 0, data: true }]]);
    expect(nodes[2]?.references).toEqual([
      { key: 0, path: [] },
      { key: 0, path: ["url"] },
    ]);
    expect(nodes[2]?.input).toBe(
      '[{"$future":"fetch","ref":0},{"$future":"fetch","path":["url"],"ref":1},{"again":{"$future":"fetch","ref":0}}]',
    );
  });

  test("tells an index from a key of the same digits", () => {
    const built = graph((b) => {
      const value = anything.do(b, 1) as Future<Record<string, unknown>>;
      anything.do(b, [value.get(0 as never), value.get("0")]);
    });
    expect(built.nodes[1]?.references).toEqual([
      { key: 0, path: [0] },
      { key: 0, path: ["0"] },
    ]);
  });

  test("keeps what an input was when `do` was called", () => {
    const built = graph((b) => {
      const input = { to: "a" };
      mail.do(b, input);
      input.to = "b";
    });
    expect(built.nodes[0]?.input).toBe('{"to":"a"}');
  });

  test("takes queue and priority from the node, else the submit, else the step; attempts from node or step", () => {
    const built = graph(
      (b) => {
        fetchPage.do(b, "u");
        save.do(b, { url: "u", links: [] });
        save.do(b, { url: "u", links: [] }, { queue: "own", priority: 9, name: "own" });
      },
      { queue: "submitted", priority: 5 },
    );
    expect(built.nodes.map(({ queue, priority, maxAttempts }) => [queue, priority, maxAttempts])).toEqual([
      ["submitted", 5, 25],
      ["submitted", 5, 5],
      ["own", 9, 5],
    ]);
  });

  test("may depend on the input, which the build gets as its schema's output", () => {
    const workflow = defineWorkflow("w", { input: z.object({ pages: z.number().default(2) }) }, (b, { pages }) => {
      for (let i = 0; i < pages; i++) fetchPage.do(b, `u${i}`);
    });
    expect(graphOfSync(runtimeOf(workflow), {}).nodes).toHaveLength(2);
    expect(graphOfSync(runtimeOf(workflow), { pages: 3 }).nodes).toHaveLength(3);
    expect(() => graphOfSync(runtimeOf(workflow), { pages: "3" })).toThrow(InvalidPayloadError);
  });
});

describe("names", () => {
  test("are the step's, then numbered, free of given ones, also of later ones", () => {
    const built = graph((b) => {
      for (let i = 0; i < 3; i++) fetchPage.do(b, "u");
      fetchPage.do(b, "u", { name: "fetch-2" });
      save.do(b, { url: "u", links: [] }, { name: "fetch" });
    });
    expect(names(built)).toEqual(["fetch-3", "fetch-4", "fetch-5", "fetch-2", "fetch"]);
  });

  test("stay unique where a step is called like another's second node", () => {
    const second = defineStep("fetch-2", () => 1);
    const built = graph((b) => {
      fetchPage.do(b, "u");
      fetchPage.do(b, "u");
      second.do(b);
      second.do(b);
    });
    expect(names(built)).toEqual(["fetch", "fetch-2", "fetch-2-2", "fetch-2-3"]);
  });

  test("stay within 200 characters, and never look like an item task's", () => {
    const long = defineStep("🦀".repeat(200), () => 1);
    const indexed = defineStep("x[3]", () => 1);
    const built = graph((b) => {
      long.do(b);
      long.do(b);
      indexed.do(b);
      indexed.do(b);
    });
    expect(names(built)).toEqual(["🦀".repeat(200), `${"🦀".repeat(198)}-2`, "x[3]-1", "x[3]-2"]);
  });

  test("stand in the templates of the nodes that refer to them", () => {
    const built = graph((b) => {
      const first = fetchPage.do(b, "u");
      const odd = fetchPage.do(b, "u", { name: 'a "quoted"\n name' });
      fetchPage.do(b, "u", { name: "fetch" });
      anything.do(b, [first, odd]);
    });
    expect(JSON.parse(nodeOf(built, "anything").input ?? "")).toEqual([
      { $future: "fetch-2", ref: 0 },
      { $future: 'a "quoted"\n name', ref: 1 },
    ]);
  });

  test("that differ only in case are distinct", () => {
    const built = graph((b) => {
      fetchPage.do(b, "u", { name: "a" });
      fetchPage.do(b, "u", { name: "A" });
    });
    expect(names(built)).toEqual(["a", "A"]);
  });
});

describe("the graph of a standalone job", () => {
  test("is one node named like the step, whose output is the result", () => {
    expect(graphOf(runtimeOf(save), { url: "u", links: [] }, { priority: 8 })).toEqual({
      nodes: [
        {
          key: 0,
          name: "save",
          kind: "step",
          step: "save",
          queue: "db",
          priority: 8,
          maxAttempts: 5,
          maxReclaims: 10,
          timeoutMs: null,
          input: '{"url":"u","links":[]}',
          references: [],
          upstreams: [],
        },
      ],
      result: { key: 0, path: [] },
    });
  });

  test("of an action has no result, and no input if there is none", () => {
    const built = graphOf(runtimeOf(defineAction("ping", () => undefined)), undefined) as Graph;
    expect(built.result).toBeNull();
    expect(built.nodes[0]).toMatchObject({ kind: "action", input: null });
  });

  test("has the input that was passed, which a schema only checks", () => {
    const input = z.object({ at: z.iso.datetime().transform((text) => new Date(text)), n: z.number().default(1) });
    const step = runtimeOf(defineStep("s", { input }, () => 1));
    expect((graphOf(step, { at: "2026-01-01T00:00:00Z" }) as Graph).nodes[0]?.input).toBe(
      '{"at":"2026-01-01T00:00:00Z"}',
    );
    expect(() => graphOf(step, { at: "later" })).toThrow(/^The schema refuses the input of step "s": \$\.at: /);
  });

  test("waits for an input schema that validates asynchronously, and for no other", async () => {
    const input = z.string().refine(async (text) => text !== "bad");
    const step = runtimeOf(defineStep("s", { input }, () => 1));
    const late = graphOf(step, "good");
    expect(late).toBeInstanceOf(Promise);
    expect((await late).nodes[0]?.input).toBe('"good"');
    await expect(graphOf(step, "bad")).rejects.toThrow(InvalidPayloadError);
    expect(() => graphOf(step, 1n)).toThrow(InvalidPayloadError); // what can't be stored at all is told at once
    expect(() => graphOfSync(step, "good")).toThrow(/validates asynchronously/);
  });
});

describe("literals and schemas inside a build", () => {
  test("a literal is checked and stored as it was passed", () => {
    const step = defineStep("s", { input: z.object({ n: z.coerce.string() }) }, () => 1);
    expect(graph((b) => step.do(b, { n: 5 })).nodes[0]?.input).toBe('{"n":5}');
  });

  test("an input with futures is left to the worker, and so is an asynchronous schema", async () => {
    const strict = defineStep("strict", { input: z.object({ url: z.literal("never") }) }, () => 1);
    const late = defineStep("late", { input: z.string().refine(async () => false) }, () => 1);
    const built = graph((b) => {
      strict.do(b, { url: fetchPage.do(b, "u").get("url") as Future<never> });
      late.do(b, "x");
    });
    expect(built.nodes).toHaveLength(3);
    await new Promise((resolve) => setTimeout(resolve, 10)); // a rejection that nobody hears would end the process
  });

  test("a literal is limited in size, and the limit is the caller's", () => {
    const build = (b: Builder) => anything.do(b, "x".repeat(100));
    expect(() => graph(build, { maxPayloadBytes: 101 })).toThrow(/it has 102 bytes/);
    expect(graph(build, { maxPayloadBytes: 102 }).nodes).toHaveLength(1);
  });
});

describe("what a submit says for all nodes is checked", () => {
  test.each([{ queue: "" }, { queue: 5 as never }, { priority: 1.5 }, { priority: 99_999 }])(
    "%j is refused",
    (submit) => {
      expect(() => graph((b) => fetchPage.do(b, "u"), submit)).toThrow(InvalidOptionError);
      expect(() => graphOf(runtimeOf(fetchPage), "u", submit)).toThrow(InvalidOptionError);
    },
  );
});

describe("a large graph builds fast, and without recursion", () => {
  // Some eight times what it takes here when nothing else runs; what grows with the square would take minutes.
  const CPU_US_MAX = 2_000_000;
  /** In microseconds of CPU time, since the machine may be busy with other things. */
  const timed = (build: (b: Builder) => unknown): [Graph, number] => {
    const start = process.cpuUsage();
    const built = graph(build);
    return [built, process.cpuUsage(start).user];
  };

  test("a chain of 10,000 nodes", () => {
    const [built, cpu] = timed((b) => {
      let last: Future<unknown> = anything.do(b, 0);
      for (let i = 1; i < 10_000; i++) last = anything.do(b, { last });
      return last;
    });
    expect(built.nodes).toHaveLength(10_000);
    expect(built.nodes[9999]).toMatchObject({ name: "anything-10000", upstreams: [{ key: 9998, data: true }] });
    expect(cpu).toBeLessThan(CPU_US_MAX);
  });

  test("a layer of 10,000 nodes between one and one", () => {
    const [built, cpu] = timed((b) => {
      const start = anything.do(b, 0);
      const layer = Array.from({ length: 10_000 }, (_, i) => anything.do(b, { start, i }));
      return anything.do(b, layer, { after: layer });
    });
    expect(built.nodes[10_001]?.upstreams).toHaveLength(10_000);
    expect(built.nodes[10_001]?.references).toHaveLength(10_000);
    expect(cpu).toBeLessThan(CPU_US_MAX);
  });
});
