import { expect, test } from "vitest";
import { bareRows, citedTests, missingTests, readPage } from "./cited-tests.ts";

test("every test that docs/guarantees.md names exists", () => {
  const text = readPage("guarantees.md");
  expect(citedTests(text).length).toBeGreaterThan(150);
  expect(missingTests(text)).toEqual([]);
});

test("every promise of docs/guarantees.md names a test", () => {
  expect(bareRows(readPage("guarantees.md"))).toEqual([]);
});

test("the guarantee rules can fail", () => {
  expect(missingTests("| x | `house-rules/guarantees` “the guarantee rules can fail” |")).toEqual([]);
  expect(missingTests("| x | `house-rules/guarantees` “no such name” |")).toHaveLength(1);
  expect(missingTests("| x | `conformance/no-such-file` “the guarantee rules can fail” |")).toHaveLength(1);
  expect(missingTests("| x | `.ci/run` “published packages” |")).toEqual([]);
  expect(missingTests("| x | `.ci/run` “no such step” |")).toHaveLength(1);
  expect(missingTests("| x | `compat/no-such-file` “the guarantee rules can fail” |")).toHaveLength(1);
  expect(bareRows("| promise | held by |\n| --- | --- |\n| a | `house-rules/words` “b” |")).toEqual([]);
  expect(bareRows("| a | later |")).toHaveLength(1);
});
