import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** A test that a page of the docs names. */
export interface CitedTest {
  /** Below the package's `test`, unless it begins with `src/` or with `compat/`, or is `.ci/run`, whose steps have names too. */
  readonly file: string;
  readonly name: string;
}

/** The tests that a text cites, each as its file in code quotes, then its name in curly ones. */
export function citedTests(text: string): CitedTest[] {
  return [...text.matchAll(/`([\w./-]+)` “([^”]+)”/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

/** What is wrong with a text's citations. */
export function missingTests(text: string): string[] {
  return citedTests(text).flatMap(({ file, name }) => {
    const path = pathOf(file);
    if (!existsSync(path)) return [`${file} isn't a test file`];
    return readFileSync(path, "utf8").includes(`"${name}"`) ? [] : [`${file} has no test "${name}"`];
  });
}

/** The rows of a text's tables that cite no test, without the heads. */
export function bareRows(text: string): string[] {
  const lines = text.split("\n");
  return lines
    .filter((line, i) => /^\|.*\|$/.test(line) && !isRule(line) && !isRule(lines[i + 1]))
    .filter((line) => citedTests(line).length === 0);
}

/** A page of the docs. */
export function readPage(name: string): string {
  return readFileSync(join(ROOT, "docs", name), "utf8");
}

function isRule(line: string | undefined): boolean {
  return line?.startsWith("| ---") ?? false;
}

function pathOf(file: string): string {
  if (file === ".ci/run") return join(ROOT, file);
  if (file.startsWith("compat/")) return join(ROOT, `${file}.test.ts`);
  return join(ROOT, "packages/cyclone-pg", file.startsWith("src/") ? "" : "test", `${file}.test.ts`);
}
