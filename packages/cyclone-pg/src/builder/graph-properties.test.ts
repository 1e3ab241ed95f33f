import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bindInput } from "./bind-input.ts";
import type { Builder } from "./builder.ts";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { definitionOf } from "./definition.ts";
import type { Future, Node } from "./future.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { graphOf } from "./graph-of.ts";

/** A random program: each call of `do` in it, with its input in a form that holds no futures yet. */
interface Call {
  readonly definition: number;
  readonly action: boolean;
  readonly input: Sketch;
  /** Earlier calls, taken modulo their number. */
  readonly after: readonly number[];
  readonly named: boolean;
}
/** An input in which `{ ref, path }` stands for a part of an earlier call's output. */
type Sketch =
  | { readonly form: "value"; readonly value: unknown }
  | { readonly form: "future"; readonly ref: number; readonly path: readonly (string | number)[] }
  | { readonly form: "list"; readonly items: readonly Sketch[] }
  | { readonly form: "record"; readonly entries: readonly (readonly [string, Sketch])[] };

const STEP_NAMES = ["a", "a-2", "b", "x[1]", "end"];
const steps = STEP_NAMES.map((name) => defineStep(name, (_ctx, value: unknown) => value as Record<string, unknown>));
const actions = STEP_NAMES.map((name) => defineAction(name, (_ctx, _value: unknown) => undefined));

const text = fc.string({ unit: fc.constantFrom(...Array.from('ab$"\\🦀 é')) });
const key = fc.oneof(
  text,
  fc.constantFrom("__proto__", "constructor", "$future", "$literal", "ref", "path", "toJSON", "0"),
);
const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
const { sketch } = fc.letrec<{ sketch: Sketch }>((tie) => ({
  sketch: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf.map((value) => ({ form: "value" as const, value })),
    fc.record({
      form: fc.constant("future" as const),
      ref: fc.nat(),
      path: fc.array(fc.oneof(key, fc.nat(5)), { maxLength: 3 }),
    }),
    fc.record({ form: fc.constant("list" as const), items: fc.array(tie("sketch"), { maxLength: 4 }) }),
    fc.record({
      form: fc.constant("record" as const),
      entries: fc.uniqueArray(fc.tuple(key, tie("sketch")), { selector: ([name]) => name, maxLength: 4 }),
    }),
  ),
}));
const call: fc.Arbitrary<Call> = fc.record({
  definition: fc.nat(STEP_NAMES.length - 1),
  action: fc.boolean(),
  input: sketch,
  after: fc.array(fc.nat(), { maxLength: 3 }),
  named: fc.boolean(),
});
const program = fc.array(call, { minLength: 1, maxLength: 25 });

interface Built {
  readonly graph: Graph;
  /** What each call's input refers to, and comes after. */
  readonly expected: readonly {
    readonly data: ReadonlySet<number>;
    readonly order: ReadonlySet<number>;
    readonly name: string | undefined;
  }[];
}

/** Runs a program as a build. Futures only of steps: an action has no output. */
function build(calls: readonly Call[]): Built {
  const expected: Built["expected"][number][] = [];
  const run = (b: Builder): void => {
    const nodes: Node[] = [];
    const futures: { readonly key: number; readonly future: Future<Record<string, unknown>> }[] = [];
    calls.forEach(({ definition, action, input, after, named }, index) => {
      const data = new Set<number>();
      const realised = realise(input, (ref, path) => {
        const chosen = futures[ref % futures.length];
        if (chosen === undefined) return null;
        data.add(chosen.key);
        return path.reduce<Future<unknown>>(
          (part, at) => (part as Future<Record<string, unknown>>).get(at as string),
          chosen.future,
        );
      });
      const order = new Set(nodes.length === 0 ? [] : after.map((ref) => ref % nodes.length));
      const name = named ? `given ${index}` : undefined;
      const options = { after: [...order].map((at) => nodes[at] as Node), ...(name === undefined ? {} : { name }) };
      expected.push({ data, order, name });
      const node = action ? actions[definition]?.do(b, realised, options) : steps[definition]?.do(b, realised, options);
      nodes.push(node as Node);
      if (!action) futures.push({ key: index, future: node as Future<Record<string, unknown>> });
    });
  };
  const definition = definitionOf(defineWorkflow("w", run));
  if (definition === undefined) throw new Error("no definition");
  return { graph: graphOf(definition, undefined) as Graph, expected };
}

/** The input with `future(ref, path)` where a future stands. */
function realise(from: Sketch, future: (ref: number, path: readonly (string | number)[]) => unknown): unknown {
  switch (from.form) {
    case "value":
      return from.value;
    case "future":
      return future(from.ref, from.path);
    case "list":
      return from.items.map((item) => realise(item, future));
    case "record": {
      const record: Record<string, unknown> = {};
      for (const [name, entry] of from.entries) {
        Object.defineProperty(record, name, {
          value: realise(entry, future),
          enumerable: true,
          writable: true,
          configurable: true,
        });
      }
      return record;
    }
  }
}

/** The value that stands for a reference: told apart by node and path. */
const valueOf = (key: number, path: readonly (string | number)[]): unknown => ({
  $future: key,
  from: path,
  $literal: {},
});

function bound(node: GraphNode): unknown {
  const values = node.references.map(({ key, path }) => valueOf(key, path));
  return bindInput(node.input === null ? undefined : JSON.parse(node.input), values);
}

const holds = (check: (built: Built, calls: readonly Call[]) => void): void => {
  fc.assert(
    fc.property(program, (calls) => check(build(calls), calls)),
    { numRuns: 200 },
  );
};

describe("the graph of any program", () => {
  test("has a node per call, in the order of the calls, which is topological", () => {
    holds(({ graph }, calls) => {
      expect(graph.nodes.map((node) => node.key)).toEqual(calls.map((_, index) => index));
      for (const node of graph.nodes)
        for (const upstream of node.upstreams) expect(upstream.key).toBeLessThan(node.key);
    });
  });

  test("has exactly the edges that references and `after` make, one per pair, by ascending key", () => {
    holds(({ graph, expected }) => {
      graph.nodes.forEach((node, index) => {
        const { data, order } = expected[index] ?? { data: new Set(), order: new Set() };
        const edges = [...new Set([...data, ...order])].sort((a, b) => a - b);
        expect(node.upstreams).toEqual(edges.map((key) => ({ key, data: data.has(key) })));
        expect(new Set(node.references.map(({ key }) => key))).toEqual(data);
      });
    });
  });

  test("lists each reference once", () => {
    holds(({ graph }) => {
      for (const { references } of graph.nodes) {
        expect(new Set(references.map(({ key, path }) => JSON.stringify([key, path]))).size).toBe(references.length);
      }
    });
  });

  test("has unique names, and keeps the given ones", () => {
    holds(({ graph, expected }) => {
      expect(new Set(graph.nodes.map((node) => node.name)).size).toBe(graph.nodes.length);
      graph.nodes.forEach((node, index) => expect(expected[index]?.name ?? node.name).toBe(node.name));
      for (const node of graph.nodes) expect(node.name).not.toMatch(/\[\d+\]$/);
    });
  });

  test("has templates that, once bound, are the inputs with the futures replaced", () => {
    holds(({ graph }, calls) => {
      const stepKeys = calls.flatMap(({ action }, index) => (action ? [] : [index]));
      graph.nodes.forEach((node, index) => {
        const earlier = stepKeys.filter((key) => key < index);
        const wanted = realise(calls[index]?.input ?? { form: "value", value: null }, (ref, path) => {
          const chosen = earlier[ref % earlier.length];
          return chosen === undefined ? null : valueOf(chosen, path);
        });
        expect(isDeepStrictEqual(bound(node), wanted), `${node.input}`).toBe(true);
      });
    });
  });

  test("has templates that name the nodes which they refer to", () => {
    holds(({ graph }) => {
      for (const { input, references } of graph.nodes) {
        for (const { key } of references)
          expect(input).toContain(`{"$future":${JSON.stringify(graph.nodes[key]?.name)},`);
      }
    });
  });
});
