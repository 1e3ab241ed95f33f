import { describe, expect, test } from "vitest";
import { programOptions } from "./program-options.ts";
import { UsageError } from "./usage-error.ts";

describe("programOptions", () => {
  test("has defaults", () => {
    expect(programOptions([])).toEqual({
      kind: "audit",
      folder: undefined,
      once: false,
      data: undefined,
      database: undefined,
      concurrency: 10,
      slowMs: 0,
    });
  });

  test("reads all options, in any order", () => {
    expect(programOptions(["--concurrency=3", "here", "--once", "--data", "there"])).toMatchObject({
      folder: "here",
      once: true,
      data: "there",
      concurrency: 3,
    });
    expect(programOptions(["--once", "--help"])).toEqual({ kind: "help" });
  });

  test.each([
    [["--onse"], "Unknown option '--onse'"],
    [["--data"], "Option '--data <value>' argument missing"],
    [["--once=yes"], "Option '--once' does not take an argument"],
    [["--concurrency", "0"], '--concurrency takes a whole number from 1 to 100, not "0"'],
    [["--slow", "1e3"], '--slow takes a whole number from 0 to 60000, not "1e3"'],
    [["a", "b"], "one folder at a time, but there are 2: a b"],
    [
      ["--data", "d", "--database", "u"],
      "--data is for the embedded Postgres, --database for another one: give only one of them",
    ],
  ])("refuses %j", (args, message) => {
    expect(() => programOptions(args)).toThrow(new UsageError(message));
  });
});
