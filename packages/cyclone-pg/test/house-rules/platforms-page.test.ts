import { expect, test } from "vitest";
import compat from "../../../../compat/package.json" with { type: "json" };
import root from "../../../../package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { bareRows, citedTests, missingTests, readPage } from "./cited-tests.ts";

const PAGE = readPage("platforms.md");
const TRIED = versionsOf(compat.dependencies, compat.optionalDependencies);
const INSTALLED = new Set([
  ...TRIED,
  ...versionsOf(root.devDependencies, manifest.dependencies, manifest.devDependencies),
]);

test("every test that docs/platforms.md names exists, and each of its rows names one", () => {
  expect(citedTests(PAGE).length).toBeGreaterThan(45);
  expect(missingTests(PAGE)).toEqual([]);
  expect(bareRows(PAGE)).toEqual([]);
});

test("the versions of docs/platforms.md are installed ones, and all that are installed in compat/ are there", () => {
  const named = new Set(PAGE.match(/\b\d+\.\d+\.\d+\b/g));
  expect([...named].filter((version) => !INSTALLED.has(version))).toEqual([]);
  expect([...TRIED].filter((version) => !named.has(version))).toEqual([]);
});

/** Versions as they are pinned, without the names of aliased packages. */
function versionsOf(...dependencies: readonly Readonly<Record<string, string>>[]): Set<string> {
  const pinned = dependencies.flatMap((some) => Object.values(some));
  return new Set(pinned.map((version) => version.slice(version.lastIndexOf("@") + 1)));
}
