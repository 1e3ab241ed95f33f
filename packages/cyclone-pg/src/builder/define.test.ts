import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { DEFAULT_BACKOFF } from "../model/backoff.ts";
import { CLIENT_PORT, type ClientLike, type ClientPort } from "./client-port.ts";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { definitionOf } from "./definition.ts";
import { implement } from "./implement.ts";

const noop = (): void => undefined;
const untyped = { defineStep, defineAction, defineWorkflow } as unknown as Record<
  "defineStep" | "defineAction" | "defineWorkflow",
  (...args: unknown[]) => unknown
>;

describe("a definition", () => {
  test("of a step has its name, its handler and the defaults", () => {
    const handler = (): number => 1;
    const step = defineStep("fetch", handler);
    expect(step).toMatchObject({ kind: "step", name: "fetch", hasHandler: true });
    expect(definitionOf(step)).toEqual({
      kind: "step",
      name: "fetch",
      handler,
      build: undefined,
      options: {
        queue: "default",
        priority: 0,
        maxAttempts: 25,
        maxReclaims: 10,
        timeoutMs: null,
        backoff: DEFAULT_BACKOFF,
        input: undefined,
        output: undefined,
        failFast: false,
        retentionMs: null,
      },
    });
  });

  test("keeps the options that it is given, and takes undefined for not given", () => {
    const input = z.string();
    const backoff = (): number => 5;
    const action = untyped.defineAction(
      "mail",
      {
        queue: "mail",
        priority: -3,
        maxAttempts: 1,
        maxReclaims: Infinity,
        timeout: "30s",
        backoff,
        input,
        payload: undefined,
      },
      noop,
    );
    expect(definitionOf(action)?.options).toEqual({
      queue: "mail",
      priority: -3,
      maxAttempts: 1,
      maxReclaims: null,
      timeoutMs: 30_000,
      backoff,
      input,
      output: undefined,
      failFast: false,
      retentionMs: null,
    });
  });

  test("of a workflow has its build", () => {
    const workflow = defineWorkflow("w", noop);
    expect(definitionOf(workflow)).toMatchObject({
      kind: "workflow",
      build: noop,
      handler: undefined,
    });
  });

  test("without a handler is a contract", () => {
    expect(defineStep("resize")).toMatchObject({ kind: "step", hasHandler: false });
    expect(definitionOf(defineAction("notify", { queue: "q" }))).toMatchObject({
      handler: undefined,
      options: { queue: "q" },
    });
  });

  test("can't be changed", () => {
    const step = defineStep("x", noop);
    expect(() => Object.assign(step, { name: "y" })).toThrow(TypeError);
    expect(() => Object.assign(definitionOf(step)?.options ?? {}, { queue: "y" })).toThrow(TypeError);
  });

  test("is told from other values", () => {
    for (const value of [undefined, null, "fetch", 5, {}, noop]) expect(definitionOf(value)).toBeUndefined();
  });
});

describe("a definition is refused at once", () => {
  test.each([
    ["an unknown option", "defineStep", ["x", { maxAttemps: 5 }, noop], "maxAttemps"],
    ["an output schema on an action", "defineAction", ["x", { output: z.string() }, noop], "output"],
    ["a step's option on a workflow", "defineWorkflow", ["x", { queue: "q" }, noop], "queue"],
    ["an empty name", "defineStep", ["", noop], "name"],
    ["a name that isn't a text", "defineAction", [{ name: "x" }, noop], "name"],
    ["a queue that isn't a text", "defineStep", ["x", { queue: 5 }, noop], "queue"],
    ["a priority out of range", "defineStep", ["x", { priority: 40_000 }, noop], "priority"],
    ["no attempts", "defineStep", ["x", { maxAttempts: 0 }, noop], "maxAttempts"],
    ["an unbounded number of attempts", "defineStep", ["x", { maxAttempts: Infinity }, noop], "maxAttempts"],
    ["a negative maxReclaims", "defineStep", ["x", { maxReclaims: -1 }, noop], "maxReclaims"],
    ["a timeout without a unit", "defineStep", ["x", { timeout: "30" }, noop], "timeout"],
    ["something else than a schema", "defineStep", ["x", { input: { type: "string" } }, noop], "input"],
    ["a payload mode that isn't", "defineStep", ["x", { payload: "any" }, noop], "payload"],
    ["a handler that isn't a function", "defineStep", ["x", {}, "handler"], "handler"],
    ["options that aren't an object", "defineStep", ["x", "options", noop], "options"],
    ["a workflow without a build", "defineWorkflow", ["x"], "build"],
  ] as const)("with %s", (_what, define, args, option) => {
    const attempt = (): unknown => untyped[define](...args);
    expect(attempt).toThrow(InvalidOptionError);
    expect(attempt).toThrow(expect.objectContaining({ option }));
  });
});

describe("implement", () => {
  const contract = defineStep<string, number>("size", { queue: "db" });

  test("gives the step of a contract, and leaves the contract as it is", () => {
    const handler = (_ctx: unknown, text: string): number => text.length;
    const step = implement(contract, handler);
    expect(step).toMatchObject({ name: "size", hasHandler: true });
    expect(definitionOf(step)).toMatchObject({ handler, options: { queue: "db" } });
    expect(contract.hasHandler).toBe(false);
    expect(definitionOf(contract)?.handler).toBeUndefined();
  });

  test.each([
    ["something else than a contract", {}, noop],
    ["a workflow", defineWorkflow("w", noop), noop],
    ["no handler", contract, undefined],
  ])("refuses %s", (_what, given, handler) => {
    expect(() => implement(given as never, handler as never)).toThrow(InvalidOptionError);
  });
});

describe("starting", () => {
  const port = { start: vi.fn<ClientPort["start"]>(), startMany: vi.fn<ClientPort["startMany"]>() };
  const client: ClientLike = { [CLIENT_PORT]: port };
  const step = defineStep("s", (_ctx, n: number) => n);
  const action = defineAction("a", (_ctx, _n: number) => undefined);
  const workflow = defineWorkflow("w", (b, n: number) => step.do(b, n));

  test("hands definition, input and options to the client", async () => {
    const run = { id: "r" } as never;
    port.start.mockResolvedValue(run);
    port.startMany.mockResolvedValue([run]);
    const options = { tags: ["t"] };
    const key = (n: number): string => String(n);
    expect(await step.enqueue(client, 1, options)).toBe(run);
    expect(await action.enqueue(client, 2)).toBe(run);
    expect(await workflow.submit(client, 3)).toBe(run);
    expect(port.start.mock.calls).toEqual([
      [definitionOf(step), 1, options],
      [definitionOf(action), 2, undefined],
      [definitionOf(workflow), 3, undefined],
    ]);
    expect(await step.enqueueMany(client, [1, 2], { idempotencyKey: key })).toEqual([run]);
    await action.enqueueMany(client, []);
    await workflow.submitMany(client, [3]);
    expect(port.startMany.mock.calls).toEqual([
      [definitionOf(step), [1, 2], { idempotencyKey: key }],
      [definitionOf(action), [], undefined],
      [definitionOf(workflow), [3], undefined],
    ]);
  });

  test.each([undefined, null, {}, "postgres://x"])(
    "rejects, and doesn't throw, when the client is %s",
    async (given) => {
      await expect(step.enqueue(given as never, 1)).rejects.toThrow(/^enqueue of step "s" takes the client first/);
      await expect(action.enqueueMany(given as never, [])).rejects.toThrow(InvalidOptionError);
      await expect(workflow.submit(given as never, 1)).rejects.toThrow(/^submit of workflow "w"/);
      await expect(workflow.submitMany(given as never, [1])).rejects.toThrow(InvalidOptionError);
    },
  );
});
