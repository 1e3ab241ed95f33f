import { describe, expect, test } from "vitest";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { checkMaxAttempts, checkMaxReclaims, checkPriority, checkTimeout } from "./execution-limits.ts";
import { rejectUnknownKeys } from "./options.ts";

const ALLOWED = ["queue", "priority", "maxAttempts", "timeout"];

describe("an unknown option", () => {
  test.each([
    ["maxAttemps", "maxAttempts"],
    ["maxattempts", "maxAttempts"],
    ["mxaAttempts", "maxAttempts"],
    ["queu", "queue"],
    ["timeOut", "timeout"],
    ["prioriy", "priority"],
  ])("such as %s gets the suggestion %s", (key, suggestion) => {
    expect(() => rejectUnknownKeys({ [key]: 1 }, ALLOWED, 'step "x"')).toThrow(
      new InvalidOptionError(key, `Unknown option "${key}" of step "x": did you mean "${suggestion}"?`),
    );
  });

  test("that resembles none gets the list of those there are", () => {
    expect(() => rejectUnknownKeys({ concurrency: 1 }, ALLOWED, 'step "x"')).toThrow(
      'Unknown option "concurrency" of step "x": it takes queue, priority, maxAttempts, timeout',
    );
  });

  test("is found among known ones, also when it is undefined", () => {
    expect(() => rejectUnknownKeys({ queue: "a", quue: undefined }, ALLOWED, "x")).toThrow(/quue/);
    expect(() => rejectUnknownKeys({ queue: "a", priority: undefined }, ALLOWED, "x")).not.toThrow();
  });

  test.each([null, 5, "queue", [], undefined])("can't be in %s, which is no options object", (options) => {
    expect(() => rejectUnknownKeys(options, ALLOWED, "x")).toThrow(/must be an object/);
  });
});

describe("the bounds of numbers are those of the columns", () => {
  test.each([
    ["priority", checkPriority, [-32_768, 0, 32_767], [-32_769, 32_768, 1.5, Number.NaN, "1", null, Infinity, 5n]],
    ["maxAttempts", checkMaxAttempts, [1, 25, 2_147_483_647], [0, -1, 2_147_483_648, Infinity, 1.5]],
    ["maxReclaims", checkMaxReclaims, [0, 10, 2_147_483_647], [-1, 2_147_483_648, 0.5, -Infinity]],
  ] as const)("%s", (option, check, good, bad) => {
    for (const value of good) expect(check(value, "x")).toBe(value);
    for (const value of bad) expect(() => check(value, "x")).toThrow(expect.objectContaining({ option }));
  });

  test("maxReclaims of Infinity is no bound, stored as null", () => {
    expect(checkMaxReclaims(Infinity, "x")).toBeNull();
  });

  test("-0 is stored as 0", () => {
    expect(Object.is(checkPriority(-0, "x"), 0)).toBe(true);
  });

  test("a timeout has at least a millisecond", () => {
    expect(checkTimeout("1s", "x")).toBe(1000);
    expect(() => checkTimeout(0, "x")).toThrow(expect.objectContaining({ option: "timeout" }));
    expect(() => checkTimeout(-1, "x")).toThrow(InvalidOptionError);
  });
});
