import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const GUARANTEES = fileURLToPath(new URL("../../../../docs/guarantees.md", import.meta.url));

test("every test that docs/guarantees.md names exists", () => {
  const text = readFileSync(GUARANTEES, "utf8");
  expect(citedTests(text).length).toBeGreaterThan(150);
  expect(missingTests(text)).toEqual([]);
});

test("every promise of docs/guarantees.md names a test", () => {
  expect(bareRows(readFileSync(GUARANTEES, "utf8"))).toEqual([]);
});

test("the guarantee rules can fail", () => {
  expect(missingTests("| x | `house-rules/guarantees` “the guarantee rules can fail” |")).toEqual([]);
  expect(missingTests("| x | `house-rules/guarantees` “no such name” |")).toHaveLength(1);
  expect(missingTests("| x | `conformance/no-such-file` “the guarantee rules can fail” |")).toHaveLength(1);
  expect(bareRows("| promise | held by |\n| --- | --- |\n| a | `house-rules/words` “b” |")).toEqual([]);
  expect(bareRows("| a | later |")).toHaveLength(1);
});

/** The cited tests: a file below test/ or src/, and the test's name. */
function citedTests(text: string): { readonly file: string; readonly name: string }[] {
  return [...text.matchAll(/`([\w/-]+)` “([^”]+)”/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

function missingTests(text: string): string[] {
  return citedTests(text).flatMap(({ file, name }) => {
    const path = join(PACKAGE, file.startsWith("src/") ? `${file}.test.ts` : `test/${file}.test.ts`);
    if (!existsSync(path)) return [`${file} isn't a test file`];
    return readFileSync(path, "utf8").includes(`"${name}"`) ? [] : [`${file} has no test "${name}"`];
  });
}

/** Rows of a table whose last cell cites nothing. */
function bareRows(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => /^\|.*\|$/.test(line) && !/^\| (---|promise) \|/.test(line))
    .filter((line) => citedTests(line).length === 0);
}
