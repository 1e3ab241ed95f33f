import { expect, test } from "vitest";
import { textValues } from "./text-values.ts";

test("each value becomes the text that Postgres reads; null and booleans stay", () => {
  const values = ["text", "", 1.5, true, null, undefined, { a: [1] }, new Date(0)];
  expect(textValues(values)).toEqual(["text", "", "1.5", true, null, null, '{"a":[1]}', "1970-01-01T00:00:00.000Z"]);
});

test("an array becomes a literal, quoted so that no element can be mistaken", () => {
  expect(textValues([[], [1, null, "null"], ['a"b', "c\\d", "e,f", "{}", ""], [[1], [2]], [{ a: '"' }]])).toEqual([
    "{}",
    '{"1",null,"null"}',
    '{"a\\"b","c\\\\d","e,f","{}",""}',
    '{{"1"},{"2"}}',
    '{"{\\"a\\":\\"\\\\\\"\\"}"}',
  ]);
});
