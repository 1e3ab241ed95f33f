import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { renderMermaid } from "./mermaid.ts";

const fetchPage = defineStep("fetch", { queue: "web" }, (_ctx, url: string) => ({ url, title: "t" }));
const mail = defineAction("mail", (_ctx, _i: { to: string; title: string }) => undefined);
const ingest = defineWorkflow("ingest", (b, urls: readonly string[]) => {
  const pages = urls.map((url) => fetchPage.do(b, url));
  const last = pages.at(-1);
  if (last === undefined) throw new RangeError("no urls");
  mail.do(b, { to: "ops", title: last.get("title") }, { after: pages, priority: 2 });
  return last.get("title");
});

describe("the plan of a workflow", () => {
  const plan = ingest.plan(["a", "b"]);

  test("has the nodes and edges that a submit would insert, by name", () => {
    expect(plan.nodes).toEqual([
      { name: "fetch", kind: "step", step: "fetch", queue: "web", priority: 0, maxAttempts: 25, input: "a" },
      { name: "fetch-2", kind: "step", step: "fetch", queue: "web", priority: 0, maxAttempts: 25, input: "b" },
      {
        name: "mail",
        kind: "action",
        step: "mail",
        queue: "default",
        priority: 2,
        maxAttempts: 25,
        input: { to: "ops", title: { $future: "fetch-2", path: ["title"], ref: 0 } },
      },
    ]);
    expect(plan.edges).toEqual([
      { from: "fetch", to: "mail", kind: "order" },
      { from: "fetch-2", to: "mail", kind: "data" },
    ]);
    expect(plan).toMatchObject({ result: "fetch-2", resultPath: ["title"] });
  });

  test("depends on the input, and throws what the build throws", () => {
    expect(ingest.plan(["a", "b", "c"]).nodes).toHaveLength(4);
    expect(() => ingest.plan([])).toThrow(RangeError);
  });

  test("says undefined where there is no input, and null where there is no result", () => {
    const now = defineStep("now", () => 1);
    const plan = defineWorkflow("w", (b) => void now.do(b)).plan();
    expect(plan.nodes[0]?.input).toBeUndefined();
    expect(plan).toMatchObject({ edges: [], result: null, resultPath: [] });
  });

  test("can't be had from a schema that validates asynchronously", () => {
    const late = defineWorkflow("w", { input: z.string().refine(async () => true) }, (b, url) => fetchPage.do(b, url));
    expect(() => late.plan("u")).toThrow(/The input schema of workflow "w" validates asynchronously/);
  });

  test("is drawn as a Mermaid flowchart", () => {
    expect(plan.toMermaid()).toBe(
      [
        "flowchart TD",
        '  n0["fetch"]',
        '  n1["fetch-2 #40;fetch#41;"]',
        '  n2(["mail"])',
        "  n0 -.-> n2",
        "  n1 --> n2",
        "  classDef result stroke-width:3px",
        "  class n1 result",
        "",
      ].join("\n"),
    );
  });
});

describe("a drawn name is only ever a label", () => {
  const draw = (name: string): string =>
    renderMermaid({ nodes: [{ name, kind: "step", step: null }], edges: [], result: null })
      .split("\n")
      .slice(1, -1)
      .join("\n");

  test.each([
    ["end", '  n0["end"]'],
    ["plain name_1/x", '  n0["plain name_1/x"]'],
    ["übergröße 漢字", '  n0["übergröße 漢字"]'],
    ['a "quoted" one', '  n0["a #34;quoted#34; one"]'],
    ["<img onerror=x>", '  n0["#60;img onerror#61;x#62;"]'],
    ["a]b[c}d{e)f(g|h", '  n0["a#93;b#91;c#125;d#123;e#41;f#40;g#124;h"]'],
    ["#35; &amp; `md` **b**", '  n0["#35;35#59; #38;amp#59; #96;md#96; #42;#42;b#42;#42;"]'],
    ["two\nlines\ttab", '  n0["two#9226;lines#9225;tab"]'],
    ["%%{init: x}%%", '  n0["#37;#37;#123;init#58; x#125;#37;#37;"]'],
    ["1. one", '  n0["1#46; one"]'],
    ["- a-b", '  n0["#45; a-b"]'],
    ["🦀", '  n0["#129408;"]'],
    ["\u202eevil", '  n0["#8238;evil"]'],
  ])("%j", (name, line) => {
    expect(draw(name)).toBe(line);
  });

  test("a graph of 10,000 nodes is drawn without recursion", () => {
    const nodes = Array.from({ length: 10_000 }, (_, i) => ({ name: `n-${i}`, kind: "step" as const, step: "s" }));
    const edges = nodes.slice(1).map(({ name }, i) => ({ from: `n-${i}`, to: name, kind: "data" as const }));
    expect(renderMermaid({ nodes, edges, result: "n-9999" }).split("\n")).toHaveLength(1 + 10_000 + 9_999 + 2 + 1);
  });
});
