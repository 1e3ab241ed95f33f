import { describe, expect, test } from "vitest";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { checkKey, checkName, checkSchemaName, checkTag, quoteIdentifier } from "./names.ts";

const what = "The name of a step";

describe("a name", () => {
  test.each([
    "a",
    "x'; DROP TABLE t;--",
    'a"b',
    "a\\b",
    "%s",
    "$1",
    "line\nbreak",
    " ",
    "ärger",
    "🦀",
    "end",
    "e\u0301",
  ])("may be %j, and is kept as it is", (name) => {
    expect(checkName(name, what)).toBe(name);
  });

  test("has at most 200 code points, not UTF-16 units", () => {
    expect(checkName("🦀".repeat(200), what)).toHaveLength(400);
    expect(() => checkName("🦀".repeat(201), what)).toThrow(/longer than 200 characters/);
    expect(() => checkName("a".repeat(201), what)).toThrow(InvalidOptionError);
  });

  test.each([
    ["", "empty"],
    ["a\0b", "U.0000"],
    ["\ud800", "surrogate"],
    ["a\udc00b", "surrogate"],
  ])("can't be %j", (name, why) => {
    expect(() => checkName(name, what)).toThrow(InvalidOptionError);
    expect(() => checkName(name, what)).toThrow(new RegExp(`^The name of a step .*${why}`));
  });

  test.each([undefined, null, 5, {}, ["a"], Symbol("a")])("can't be %s, which isn't a text", (name) => {
    expect(() => checkName(name, what)).toThrow(/must be a text/);
  });
});

test("keys and tags have up to 255 code points, and their own option in the error", () => {
  expect(checkKey("k".repeat(255), "key")).toHaveLength(255);
  expect(checkTag("🦀".repeat(255), "tag")).toHaveLength(510);
  expect(() => checkKey("k".repeat(256), "key")).toThrow(expect.objectContaining({ option: "idempotencyKey" }));
  expect(() => checkTag("", "tag")).toThrow(expect.objectContaining({ option: "tags" }));
});

describe("a schema's name", () => {
  test.each(["public", "My Schema", 'a"b', "x'; drop", "a".repeat(63), "ä".repeat(31), "pgx", "PG_x"])(
    "may be %j",
    (name) => {
      expect(checkSchemaName(name, "schema")).toBe(name);
    },
  );

  test.each(["", "pg_catalog", "pg_", "information_schema", "a".repeat(64), "ä".repeat(32), "a\0"])(
    "can't be %j",
    (name) => {
      expect(() => checkSchemaName(name, "schema")).toThrow(expect.objectContaining({ option: "schema" }));
    },
  );

  test("is quoted so that nothing in it ends the identifier", () => {
    expect(quoteIdentifier('a"; drop table t; --')).toBe('"a""; drop table t; --"');
  });
});
