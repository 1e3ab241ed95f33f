import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { withGeneratedParts } from "../docs/learn-page.ts";

const PAGE = readFileSync(new URL("../../../../docs/learn.md", import.meta.url), "utf8");
const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));

test("docs/learn.md has the states and the statements of the sources; `npm run docs` writes them", () => {
  expect(PAGE).toBe(withGeneratedParts(PAGE, SOURCES));
});

test("docs/learn.md says of each statement what its source says", () => {
  const headings = [...PAGE.matchAll(/^### (\w+)\n\n(.*)$/gm)];
  expect(headings.length).toBeGreaterThan(10);
  for (const [, name, text] of headings) expect(text, name).not.toMatch(/^(`{3}|$)/);
});

test("the page's rules can fail", () => {
  const stale = PAGE.replace("/* cyclone:claim_steps */", "/* cyclone:claim */");
  expect(withGeneratedParts(stale, SOURCES)).not.toBe(stale);
  expect(() => withGeneratedParts("# A page", SOURCES)).toThrow("no place");
});
