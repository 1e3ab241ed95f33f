import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { FutureMisusedError } from "../errors/future-misused-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { from } from "./from.ts";
import type { Future, Node } from "./future.ts";
import { futureRuntimeOf } from "./future-runtime.ts";
import { GraphBuilder } from "./graph-builder.ts";
import { lit } from "./lit.ts";

interface Page {
  readonly url: string;
  readonly links: readonly { readonly href: string }[];
}
const fetchPage = defineStep("fetch", (_ctx, url: string): Page => ({ url, links: [] }));
const mail = defineAction("mail", (_ctx, _to: string) => undefined);

function newBuilder(): GraphBuilder {
  return new GraphBuilder("w", { queue: undefined, priority: undefined, maxPayloadBytes: 1000 });
}
function newFuture(): Future<Page> {
  return fetchPage.do(newBuilder().handle, "u");
}

describe("a future that is used as its value throws", () => {
  const future = newFuture();
  const loose = future as unknown as { toString(): string; valueOf(): number; toJSON(): unknown } & Iterable<unknown>;
  test.each([
    ["in a template string", () => `page: ${loose as unknown as string}`],
    ["in a concatenation", () => `x` + loose],
    ["by String()", () => String(loose)],
    ["by toString()", () => loose.toString()],
    ["by Number()", () => Number(loose)],
    ["in a calculation", () => (loose as unknown as number) * 2],
    ["in a comparison", () => (loose as unknown as number) > 3],
    ["in a loose equality", () => (loose as unknown) == "x"], // oxlint-disable-line eqeqeq -- coercing is the mistake
    ["as a key", () => ({})[loose as unknown as string]],
    ["in a loop", () => [...loose]],
    ["as JSON", () => JSON.stringify({ page: loose })],
    ["by then", () => (loose as unknown as Record<string, unknown>)["then"]],
  ])("%s", (_how, use) => {
    expect(use).toThrow(FutureMisusedError);
    expect(use).toThrow(/^The future of node "fetch" was .*: its value doesn't exist while the graph is built; /);
  });

  test("when it is awaited", async () => {
    // oxlint-disable-next-line typescript/await-thenable -- the mistake that must be caught
    await expect((async () => await (future as unknown as Promise<unknown>))()).rejects.toThrow(FutureMisusedError);
    await expect(Promise.resolve(future as unknown)).rejects.toThrow(/was awaited/);
  });

  test("but can be printed", () => {
    expect(inspect({ page: future.get("links", 0, "href") })).toBe("{ page: Future(fetch.links[0].href) }");
    expect(inspect(mail.do(newBuilder().handle, "x", { name: "to ops" }))).toBe("Node(to ops)");
  });
});

describe("get", () => {
  const pathOf = (node: Node) => futureRuntimeOf(node)?.path;

  test("names a part, and parts of parts", () => {
    const page = newFuture();
    expect(pathOf(page)).toEqual([]);
    expect(pathOf(page.get("links", 0, "href"))).toEqual(["links", 0, "href"]);
    expect(
      pathOf(
        page
          .get("links")
          .get(0)
          .get("href" as never),
      ),
    ).toEqual(["links", 0, "href"]);
    expect(pathOf(page)).toEqual([]);
  });

  test.each(["", "a b", "__proto__", "0", "🦀", 0, 7, 2_147_483_647])("takes the key %j", (key) => {
    expect(pathOf(newFuture().get(key as never))).toEqual([key]);
  });

  test.each([
    undefined,
    null,
    -1,
    1.5,
    Number.NaN,
    Infinity,
    2 ** 31,
    5n,
    Symbol("k"),
    {},
    ["url"],
    true,
    "a\0b",
    "\ud800",
  ])("refuses the key %s", (key) => {
    expect(() => newFuture().get(key as never)).toThrow(InvalidOptionError);
    expect(() => newFuture().get("links", key as never)).toThrow(expect.objectContaining({ option: "key" }));
  });

  test("refuses an explicit undefined, no key, a future as a key, and a path without end", () => {
    const page = newFuture();
    expect(() => page.get("links", undefined as never)).toThrow(/undefined isn't a key/);
    expect(() => (page.get as () => unknown).call(page)).toThrow(/get needs a key/);
    expect(() => page.get(page as never)).toThrow(/a future isn't a key/);
    let future = page as unknown as Future<unknown[]>;
    const deeper = () => {
      for (let i = 0; i < 200; i++) future = future.get(0) as Future<unknown[]>;
    };
    expect(deeper).toThrow(/more than 100 keys/);
  });

  test("is nothing that an action's node has", () => {
    expect((mail.do(newBuilder().handle, "x") as unknown as Record<string, unknown>)["get"]).toBeUndefined();
  });
});

describe("lit and from", () => {
  test("give back what they are given", () => {
    const value = { a: [1] } as const;
    const future = newFuture();
    expect(lit(value)).toBe(value);
    expect(lit(undefined)).toBeUndefined();
    expect(from(future)).toBe(future);
  });

  test("lit refuses a future at any depth, and says where it is", () => {
    const future = newFuture();
    expect(() => lit(future)).toThrow(FutureMisusedError);
    expect(() => lit({ a: [{ b: future }] })).toThrow(/the future of node "fetch" at \$\.a\[0\]\.b/);
  });

  test("lit walks neither forever nor too deep", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = [cycle];
    expect(lit(cycle)).toBe(cycle);
    let deep: unknown = 1;
    for (let i = 0; i < 5000; i++) deep = [deep];
    expect(lit(deep)).toBe(deep);
  });

  test.each([undefined, null, "x", {}, Promise.resolve(1)])("from refuses %s", (value) => {
    expect(() => from(value as never)).toThrow(FutureMisusedError);
  });

  test("from refuses an action's node", () => {
    expect(() => from(mail.do(newBuilder().handle, "x") as never)).toThrow(/has no output/);
  });
});
