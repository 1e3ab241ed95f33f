import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import * as face from "../index.ts";
import { ERROR_CODES } from "./codes.ts";
import { CycloneError, isCycloneError } from "./cyclone-error.ts";
import { Discard } from "./discard.ts";
import { InvalidOptionError } from "./invalid-option-error.ts";
import { RetryAfter } from "./retry-after.ts";
import { RunNotCompletedError } from "./run-not-completed-error.ts";
import { RunNotFoundError } from "./run-not-found-error.ts";
import { SchemaVersionError } from "./schema-version-error.ts";
import { Snooze } from "./snooze.ts";

/** One error of each class, in the order of the catalogue. */
const EXAMPLES: readonly CycloneError[] = [
  new face.InvalidOptionError("queue", "m"),
  new face.InvalidPayloadError("$.a", "m"),
  new face.InvalidBuildError("w", "m"),
  new face.FutureMisusedError("m"),
  new face.ForeignFutureError("m"),
  new face.DuplicateNodeError("w", "n"),
  new face.IdempotencyKeyReusedError("workflow", "w", "k", "r"),
  new face.RunNotFoundError("r"),
  new face.RunNotCompletedError("r", "failed"),
  new face.RunNotRetryableError("r", "running"),
  new face.ProducerOnlyError(),
  new face.ClientStoppedError(),
  new face.DrainTimeoutError(5),
  new face.PauseTimeoutError("mail", 10_000),
  new face.SchemaVersionError({ reason: "missing", schema: "public", found: null, expected: 1 }),
  new face.ConnectionError("m"),
  new face.CompletionTxError("m"),
  new face.AroundError("m"),
  new face.RunCancelledError("r", "why"),
  new face.RunFailedError("r"),
  new face.LeaseLostError("r", "n"),
  new face.BlockedError("r", "n", 5),
  new face.TimeoutError("r", "n", 5),
  new face.ShutdownError(),
  new face.DeadlineError(),
  new face.MaxReclaimsError("r", "n", 10),
];

describe("the catalogue of codes", () => {
  test("has one exported class per code, which carries that code and its own name", () => {
    const seen = EXAMPLES.map((error) => [error.code, error.name, error.constructor.name]);
    const catalogued = Object.entries(ERROR_CODES).map(([code, { error }]) => [code, error, error]);
    expect(seen).toEqual(catalogued);
  });

  test("is what docs/errors.md explains, in the same order", () => {
    const page = readFileSync(new URL("../../../../docs/errors.md", import.meta.url), "utf8");
    const headings = [...page.matchAll(/^### `(CYCLONE_\w+)` · (\w+)$/gm)].map(([, code, error]) => [code, error]);
    expect(headings).toEqual(Object.entries(ERROR_CODES).map(([code, { error }]) => [code, error]));
  });

  test("gives each error a message that ends what it says, and a stack that begins with its name", () => {
    for (const error of EXAMPLES) {
      expect(error.message).not.toBe("");
      expect(error.stack?.startsWith(`${error.name}: `)).toBe(true);
    }
  });
});

describe("what an error says", () => {
  test("a failed run's error names the node and the cause", () => {
    const error = new RunNotCompletedError("r1", "failed", { name: "TypeError", message: "boom", node: "save" });
    expect(error.message).toBe('Run r1 failed at node "save": TypeError: boom');
    expect(error.state).toBe("failed");
    expect(new RunNotCompletedError("r1", "running").message).toContain("still running");
    expect(new RunNotCompletedError("r1", "cancelled").message).toBe("Run r1 was cancelled.");
  });

  test("a wrong schema version says whether to migrate or to update", () => {
    const of = (reason: "missing" | "older" | "newer") =>
      new SchemaVersionError({ reason, schema: "jobs", found: reason === "missing" ? null : 3, expected: 4 }).message;
    expect(of("missing")).toMatch(/"jobs".*migrate\(\)/);
    expect(of("older")).toMatch(/version 3.*needs 4.*migrate\(\)/);
    expect(of("newer")).toMatch(/version 3.*knows 4.*update/);
  });

  test("Snooze and RetryAfter read their delay, and refuse one that isn't a duration", () => {
    expect(new Snooze("5m").delayMs).toBe(300_000);
    expect(new RetryAfter(1500, { message: "429", cause: "c" })).toMatchObject({
      delayMs: 1500,
      message: "429",
      cause: "c",
    });
    expect(() => new Snooze("soon" as never)).toThrow(InvalidOptionError);
    expect(() => new RetryAfter(-1)).toThrow(InvalidOptionError);
    expect(new Discard("no use", { cause: "c" })).toMatchObject({ name: "Discard", message: "no use", cause: "c" });
  });
});

describe("instanceof", () => {
  test("knows the errors of another copy of the package, by class", async () => {
    vi.resetModules();
    const copy = await import("../index.ts");
    const theirs = new copy.RunNotFoundError("r");
    expect(copy.RunNotFoundError).not.toBe(RunNotFoundError);
    expect(theirs instanceof RunNotFoundError).toBe(true);
    expect(theirs instanceof CycloneError).toBe(true);
    expect(theirs instanceof RunNotCompletedError).toBe(false);
    expect(new copy.Discard("d") instanceof Discard).toBe(true);
    expect(new copy.Discard("d") instanceof Snooze).toBe(false);
    expect(isCycloneError(theirs)).toBe(true);
  });

  test("takes only its own for a subclass made elsewhere", () => {
    class Mine extends RunNotFoundError {}
    expect(new Mine("r") instanceof RunNotFoundError).toBe(true);
    expect(new Mine("r") instanceof Mine).toBe(true);
    expect(new RunNotFoundError("r") instanceof Mine).toBe(false);
  });

  test("is false, and doesn't throw, for everything else", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile = new Proxy(
      {},
      {
        has: () => {
          throw new Error("no");
        },
      },
    );
    for (const value of [
      undefined,
      null,
      "RunNotFoundError",
      1,
      {},
      new Error("x"),
      { code: "CYCLONE_RUN_NOT_FOUND" },
      proxy,
      hostile,
    ]) {
      expect(isCycloneError(value)).toBe(false);
      expect(value instanceof RunNotFoundError).toBe(false);
    }
  });
});
