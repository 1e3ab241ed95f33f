import { expect, test } from "vitest";
import { bareRows, missingTests, readPage } from "./cited-tests.ts";

test("every test that docs/robustness.md names exists", () => {
  expect(missingTests(readPage("robustness.md"))).toEqual([]);
});

test("docs/robustness.md has all 54 entries, each with a test or with what it waits for", () => {
  const text = readPage("robustness.md");
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  const numbers = new Set(rows.flatMap((row) => [...row.matchAll(/\bR(\d\d)\b/g)].map(([, n]) => Number(n))));
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 54 }, (_, n) => n + 1));
  expect(bareRows(text).filter((row) => !row.includes("| later: "))).toEqual([]);
});
