import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const LIST = fileURLToPath(new URL("../../../../docs/robustness.md", import.meta.url));

test("every test that docs/robustness.md names exists", () => {
  expect(missing(readFileSync(LIST, "utf8"))).toEqual([]);
});

test("docs/robustness.md has all 54 entries, each with a test or with what it waits for", () => {
  const rows = rowsOf(readFileSync(LIST, "utf8"));
  const numbers = new Set(rows.flatMap((row) => [...row.matchAll(/\bR(\d\d)\b/g)].map(([, n]) => Number(n))));
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 54 }, (_, n) => n + 1));
  expect(rows.filter((row) => cited(row).length === 0 && !row.includes("| later: "))).toEqual([]);
});

test("the robustness rules can fail", () => {
  expect(missing("| x | `house-rules/robustness-list` “the robustness rules can fail” |")).toEqual([]);
  expect(missing("| x | `house-rules/robustness-list` “no such name” |")).toHaveLength(1);
  expect(missing("| x | `conformance/no-such-file` “x” |")).toHaveLength(1);
});

function rowsOf(text: string): string[] {
  return text.split("\n").filter((line) => /^\| (?!entry \||---)/.test(line));
}

function cited(text: string): { readonly file: string; readonly name: string }[] {
  return [...text.matchAll(/`([\w/-]+)` “([^”]+)”/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

function missing(text: string): string[] {
  return cited(text).flatMap(({ file, name }) => {
    const path = join(PACKAGE, file.startsWith("src/") ? `${file}.test.ts` : `test/${file}.test.ts`);
    if (!existsSync(path)) return [`${file} isn't a test file`];
    return readFileSync(path, "utf8").includes(`"${name}"`) ? [] : [`${file} has no test "${name}"`];
  });
}
