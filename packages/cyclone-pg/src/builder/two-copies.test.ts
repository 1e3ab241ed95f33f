import { beforeAll, describe, expect, test, vi } from "vitest";
import * as ours from "../index.ts";
import { CLIENT_PORT, portOf } from "./client-port.ts";
import { definitionOf } from "./definition.ts";
import { graphOf } from "./graph-of.ts";

/** A second copy of the package, as a bundle beside a module or two versions in a tree of dependencies make it. */
let theirs: typeof ours;
beforeAll(async () => {
  vi.resetModules();
  theirs = await import("../index.ts");
});

describe("two copies of the package in one process", () => {
  test("are two indeed", () => {
    expect(theirs.defineStep).not.toBe(ours.defineStep);
  });

  test("put each other's steps and futures into one graph", () => {
    const step = theirs.defineStep("their step", (_ctx, value: unknown) => value as { part: string });
    const action = ours.defineAction("our action", (_ctx, _value: unknown) => undefined);
    const workflow = ours.defineWorkflow("w", (b) => {
      const future = step.do(b, 1);
      action.do(b, { part: ours.from(future).get("part") }, { after: [future] });
      return future;
    });
    const definition = definitionOf(workflow);
    if (definition === undefined) throw new Error("not a definition");
    const graph = graphOf(definition, undefined);
    expect(graph).toMatchObject({
      result: { key: 0, path: [] },
      nodes: [{ name: "their step" }, { name: "our action", references: [{ key: 0, path: ["part"] }] }],
    });
  });

  test("know each other's definitions, contracts and clients", () => {
    const contract = theirs.defineStep<string, number>("size", { queue: "q" });
    const step = ours.implement(contract as never, (() => 1) as never) as ours.Step<string, number>;
    expect(definitionOf(step)).toMatchObject({ name: "size", options: { queue: "q" } });
    const port = { start: vi.fn<() => never>(), startMany: vi.fn<() => never>() };
    expect(portOf({ [CLIENT_PORT]: port }, "enqueue")).toBe(port);
    expect(Symbol.keyFor(CLIENT_PORT)).toBe("cyclone-pg.client-port");
  });

  test("refuse each other's futures in payloads, and throw errors that the other knows", () => {
    const step = theirs.defineStep("s", () => 1);
    const workflow = theirs.defineWorkflow("w", (b) => {
      theirs.lit(step.do(b));
    });
    expect(() => workflow.plan()).toThrow(ours.FutureMisusedError);
  });
});
