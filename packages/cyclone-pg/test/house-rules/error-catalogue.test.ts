import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/errors/codes.ts";
import { sourceFiles } from "./source-files.ts";

const DOCS = new URL("../../../../docs/errors.md", import.meta.url);

test.runIf(existsSync(DOCS))("docs/errors.md has every code, in the catalogue's order, with its class", () => {
  expect(documented(readFileSync(DOCS, "utf8"))).toEqual(
    Object.entries(ERROR_CODES).map(([code, { error }]) => ({ code, error })),
  );
});

test("what is documented is found by its heading", () => {
  const sample = "# Errors\n\n## `CYCLONE_A`\n\n`AError`: text with CYCLONE_X.\n\n## CYCLONE_B\nThrown as `BError`.\n";
  expect(documented(sample)).toEqual([
    { code: "CYCLONE_A", error: "AError" },
    { code: "CYCLONE_B", error: "BError" },
  ]);
});

test("every code in the sources is in the catalogue, and every class of the catalogue exists", () => {
  const sources = sourceFiles();
  const used = new Set(
    sources.flatMap(({ text }) => [...text.matchAll(/"(CYCLONE_[A-Z_]+)"/g)].map(([, code]) => code)),
  );
  expect([...used].filter((code) => !Object.hasOwn(ERROR_CODES, code ?? ""))).toEqual([]);
  const classes = sources.map(({ text }) => text).join("\n");
  for (const { error } of Object.values(ERROR_CODES)) {
    expect(new RegExp(`class ${error}\\b`).test(classes), `class ${error}`).toBe(true);
  }
});

/** Each heading with a code, and the first class that its section names. */
function documented(text: string): { code: string; error: string | undefined }[] {
  return text
    .split(/^#{2,4} /m)
    .slice(1)
    .flatMap((section) => {
      const code = /^`?(CYCLONE_[A-Z_]+)`?/.exec(section)?.[1];
      return code === undefined ? [] : [{ code, error: /`([A-Z]\w*Error)`/.exec(section)?.[1] }];
    });
}
