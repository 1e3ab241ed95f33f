import { describe, expect, test } from "vitest";
import { defineStep } from "../builder/define-step.ts";
import { defineWorkflow } from "../builder/define-workflow.ts";
import { resolveClientOptions } from "./options.ts";

const step = (name: string) => defineStep(name, async () => {});
const register = (...handlers: unknown[]) =>
  resolveClientOptions({ connection: "postgres://nobody@127.0.0.1:1/none", handlers: handlers as never });
const refusal = (message: RegExp) =>
  expect.objectContaining({
    code: "CYCLONE_INVALID_OPTION",
    option: "handlers",
    message: expect.stringMatching(message),
  });

describe("handlers", () => {
  test("with two definitions of one name tell where both are, and what to do", () => {
    const twice =
      /^handlers\[1\] and handlers\[2\] .* named "b" \(steps and actions share their names\): leave one out, or/;
    expect(() => register(step("a"), step("b"), step("b"))).toThrow(refusal(twice));
    const flow = () => defineWorkflow("flow", (b) => void step("a").do(b));
    expect(() => register(flow(), flow())).toThrow(refusal(/^handlers\[0\] and handlers\[1\] .* named "flow": leave/));
  });

  test("may have one definition twice, and a step and a workflow of one name", () => {
    const a = step("a");
    const { steps, workflows } = register(
      a,
      a,
      defineWorkflow("a", (b) => void a.do(b)),
    );
    expect([...steps.keys(), ...workflows.keys()]).toEqual(["a", "a"]);
  });

  test("with an undefined one ask for a circular import", () => {
    expect(() => register(step("a"), undefined)).toThrow(
      refusal(/^handlers\[1\] is undefined \(a circular import\?\)/),
    );
  });

  test.each([null, {}, "a", async () => {}])("refuse %o", (handler) => {
    expect(() => register(handler)).toThrow(refusal(/^handlers\[0\] is neither a step, an action nor a workflow$/));
  });
});
