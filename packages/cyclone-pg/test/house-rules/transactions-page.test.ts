import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { citedTests, missingTests } from "./cited-tests.ts";
import { blocksOf, differences } from "./page-blocks.ts";

const TESTS = fileURLToPath(new URL("../", import.meta.url));
const EXAMPLES = join(TESTS, "orm/examples");
const PAGE = fileURLToPath(new URL("../../../../docs/transactions.md", import.meta.url));

test("each block of docs/transactions.md is a file that tests run, and each such file is on the page", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(differences(page, EXAMPLES, asPublished)).toEqual([]);
  for (const { file } of blocksOf(page)) {
    expect(readFileSync(join(TESTS, "orm", file.replace(/\.ts$/, ".test.ts")), "utf8")).toContain(
      `from "./examples/${file}"`,
    );
  }
});

test("the versions on the page are the ones that the tests run with", () => {
  const named = [...readFileSync(PAGE, "utf8").matchAll(/(?<![\w@/-])((?:@[\w-]+\/)?[\w-]+) (\d+\.\d+\.\d+)\b/g)];
  expect(named.length).toBeGreaterThan(9);
  for (const [, name = "", version] of named) {
    expect({ ...manifest.devDependencies, ...manifest.dependencies }).toMatchObject({ [name]: version });
    expect(installedVersion(name), name).toBe(version);
  }
});

test("every test that the page names exists", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(citedTests(page).length).toBeGreaterThan(12);
  expect(missingTests(page)).toEqual([]);
});

test("the page's rules can fail", () => {
  expect(blocksOf("<!-- file: a.ts -->\n```ts\nx();\n```\n")).toEqual([{ file: "a.ts", code: "x();\n" }]);
  expect(asPublished('import { a } from "../../../src/orm.ts";')).toBe('import { a } from "cyclone-pg/orm";');
});

/** An example as somebody writes it who has installed the package. */
function asPublished(text: string): string {
  return text
    .replaceAll('"../../../src/index.ts"', '"cyclone-pg"')
    .replaceAll('"../../../src/orm.ts"', '"cyclone-pg/orm"')
    .replaceAll('"../prisma/generated/client.ts"', '"./generated/client.ts"');
}

/** Read from the file, since some packages don't export their manifest. */
function installedVersion(name: string): unknown {
  const folder = createRequire(import.meta.url)
    .resolve.paths(name)
    ?.map((path) => join(path, name, "package.json"))
    .find((path) => existsSync(path));
  return folder === undefined ? undefined : JSON.parse(readFileSync(folder, "utf8")).version;
}
