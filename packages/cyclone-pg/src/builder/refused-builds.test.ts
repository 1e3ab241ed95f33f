import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { DuplicateNodeError } from "../errors/duplicate-node-error.ts";
import { ForeignFutureError } from "../errors/foreign-future-error.ts";
import { FutureMisusedError } from "../errors/future-misused-error.ts";
import { InvalidBuildError } from "../errors/invalid-build-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { InvalidPayloadError } from "../errors/invalid-payload-error.ts";
import type { Builder } from "./builder.ts";
import { defineAction } from "./define-action.ts";
import { defineStep } from "./define-step.ts";
import { defineWorkflow } from "./define-workflow.ts";
import type { Future, Node } from "./future.ts";

interface Page {
  readonly url: string;
}
const fetchPage = defineStep("fetch", (_ctx, url: string): Page => ({ url }));
const save = defineStep("save", (_ctx, page: Page) => page.url);
const mail = defineAction("mail", (_ctx, _i: { to: string }) => undefined);
const anything = defineStep("anything", (_ctx, value: unknown) => value);
/** Calls a build, as that of a workflow named "w". */
const graph = (build: (b: Builder) => unknown): void => {
  defineWorkflow("w", build as () => void).plan();
};

describe("a build is refused", () => {
  const foreign: { page?: Future<Page>; mailed?: Node; b?: Builder } = {};
  graph((b) => {
    foreign.b = b;
    foreign.page = fetchPage.do(b, "u", { name: "elsewhere" });
    foreign.mailed = mail.do(b, { to: "x" });
  });
  const page = foreign.page as Future<Page>;
  const never = (value: unknown): never => value as never;

  test.each([
    ["with a future of another build as an input", (b: Builder) => save.do(b, page), ForeignFutureError],
    ["with one deep inside an input", (b: Builder) => anything.do(b, { a: [page.get("url")] }), ForeignFutureError],
    [
      "with a node of another build in `after`",
      (b: Builder) => fetchPage.do(b, "u", { after: [foreign.mailed as Node] }),
      ForeignFutureError,
    ],
    ["with a future of another build as its result", (b: Builder) => (fetchPage.do(b, "u"), page), ForeignFutureError],
    [
      "with two nodes of one given name",
      (b: Builder) => [1, 2].forEach(() => fetchPage.do(b, "u", { name: "same" })),
      DuplicateNodeError,
    ],
    ["with an action's node as data", (b: Builder) => anything.do(b, [mail.do(b, { to: "x" })]), FutureMisusedError],
    ["with an action's node as its result", (b: Builder) => mail.do(b, { to: "x" }), FutureMisusedError],
    ["when it returns a Promise", async (b: Builder) => void fetchPage.do(b, "u"), InvalidBuildError],
    ["when it returns an object", (b: Builder) => ({ page: fetchPage.do(b, "u") }), InvalidBuildError],
    ["when it returns null", (b: Builder) => (fetchPage.do(b, "u"), null), InvalidBuildError],
    [
      "when it returns a getter that throws",
      (b: Builder) => (
        fetchPage.do(b, "u"),
        {
          // oxlint-disable-next-line unicorn/no-thenable -- it must be survived
          get then() {
            throw new Error("no");
          },
        }
      ),
      InvalidBuildError,
    ],
    ["when it adds no node", () => undefined, InvalidBuildError],
    ["with an input that can't be stored", (b: Builder) => anything.do(b, { a: [new Date()] }), InvalidPayloadError],
    [
      "with a future inside a Map",
      (b: Builder) => anything.do(b, new Map([["page", fetchPage.do(b, "u")]])),
      InvalidPayloadError,
    ],
    [
      "with a future inside a class instance",
      (b: Builder) =>
        anything.do(
          b,
          new (class {
            page = fetchPage.do(b, "u");
          })(),
        ),
      InvalidPayloadError,
    ],
    ["with the spread of a future", (b: Builder) => anything.do(b, { ...fetchPage.do(b, "u") }), InvalidPayloadError],
    ["with a Promise as an input", (b: Builder) => anything.do(b, Promise.resolve("u")), InvalidPayloadError],
    [
      "with a literal that the step's schema refuses",
      (b: Builder) => defineStep("s", { input: z.string() }, () => 1).do(b, never(5)),
      InvalidPayloadError,
    ],
    ["with an unknown node option", (b: Builder) => fetchPage.do(b, "u", never({ afer: [] })), InvalidOptionError],
    [
      "with a step's option on a node",
      (b: Builder) => fetchPage.do(b, "u", never({ backoff: "1s" })),
      InvalidOptionError,
    ],
    [
      "with an `after` that isn't a list",
      (b: Builder) => fetchPage.do(b, "u", never({ after: page })),
      InvalidOptionError,
    ],
    ["with a name in `after`", (b: Builder) => fetchPage.do(b, "u", never({ after: ["fetch"] })), InvalidOptionError],
    [
      "with the step itself in `after`",
      (b: Builder) => fetchPage.do(b, "u", never({ after: [fetchPage] })),
      InvalidOptionError,
    ],
    ["with an item task's name", (b: Builder) => fetchPage.do(b, "u", { name: "fetch[0]" }), InvalidOptionError],
    ["with an empty name", (b: Builder) => fetchPage.do(b, "u", { name: "" }), InvalidOptionError],
    ["with a priority out of range", (b: Builder) => fetchPage.do(b, "u", { priority: 32_768 }), InvalidOptionError],
    ["with no attempts", (b: Builder) => fetchPage.do(b, "u", { maxAttempts: 0 }), InvalidOptionError],
    [
      "with a timeout that isn't a duration",
      (b: Builder) => fetchPage.do(b, "u", { timeout: never("soon") }),
      InvalidOptionError,
    ],
    ["with something else than the builder", () => fetchPage.do(never({}), "u"), InvalidOptionError],
  ])("%s", (_what, build, error) => {
    expect(() => graph(build)).toThrow(error);
  });

  test("after it has returned, and tells when a kept builder is used", () => {
    expect(() => fetchPage.do(foreign.b as Builder, "u")).toThrow(/the build of workflow "w" has returned/);
  });

  test("and stays closed if it threw, with the build's own error", () => {
    let kept: Builder | undefined;
    expect(() =>
      graph((b) => {
        kept = b;
        throw new RangeError("own");
      }),
    ).toThrow(RangeError);
    expect(() => fetchPage.do(kept as Builder, "u")).toThrow(InvalidBuildError);
  });

  test("with messages that name workflow, node and path", () => {
    const message = (build: (b: Builder) => unknown): string => {
      try {
        graph(build);
      } catch (thrown) {
        return (thrown as Error).message;
      }
      return "";
    };
    expect(message((b) => anything.do(b, { a: [new Date()] }, { name: "odd" }))).toBe(
      `Can't store the input of node "odd": $.a[0] is a Date: pass date.toISOString() or date.getTime().`,
    );
    expect(message((b) => save.do(b, page))).toBe(
      `In workflow "w" the input of node "save" takes node "elsewhere" of another build of workflow "w": use only what this build's own \`do\` returned.`,
    );
    expect(message((b) => fetchPage.do(b, "u", never({ afer: [] })))).toBe(
      `Unknown option "afer" of a node of step "fetch": did you mean "after"?`,
    );
    expect(message((b) => anything.do(b, { ...fetchPage.do(b, "u") }))).toContain("is the spread of a future");
    expect(message((b) => anything.do(b, [mail.do(b, { to: "x" })]))).toContain(
      `the input of node "anything" takes node "mail", which is an action's`,
    );
  });

  test("leaving no rejection behind when it was asynchronous", async () => {
    const unhandled = vi.fn<(reason: unknown) => void>();
    process.on("unhandledRejection", unhandled);
    try {
      expect(() =>
        graph(async () => {
          throw new Error("late");
        }),
      ).toThrow(/returned a Promise/);
      expect(() => graph(async (b) => fetchPage.do(b, "u"))).toThrow(/returned a Promise/);
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });
});
