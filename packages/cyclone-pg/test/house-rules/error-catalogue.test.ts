import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/errors/codes.ts";
import { type SourceFile, sourceFiles } from "./source-files.ts";

// That docs/errors.md explains the same codes is tested beside the errors themselves.
test("every code in the sources is in the catalogue", () => {
  expect(unknownCodes(sourceFiles())).toEqual([]);
});

test("every class of the catalogue exists", () => {
  expect(missingClasses(sourceFiles())).toEqual([]);
});

test("what a docstring says is thrown comes with its code", () => {
  expect(sourceFiles().flatMap(throwsWithoutCode)).toEqual([]);
});

test("the catalogue rules can fail", () => {
  const file = { path: "errors/a.ts", text: 'class AError { code = "CYCLONE_NO_SUCH_CODE" }' };
  expect(unknownCodes([file])).toEqual(["errors/a.ts: CYCLONE_NO_SUCH_CODE"]);
  expect(missingClasses([file])).toContain("InvalidOptionError");
  const throwing = (text: string) => throwsWithoutCode({ path: "a.ts", text });
  expect(throwing("/** @throws InvalidOptionError if it is none */")).toHaveLength(1);
  expect(throwing("/** @throws InvalidOptionError (`CYCLONE_CONNECTION`) */")).toHaveLength(1);
  expect(throwing("/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it is none */")).toEqual([]);
});

function unknownCodes(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/"(CYCLONE_[A-Z_]+)"/g)]
      .map(([, code]) => code ?? "")
      .filter((code) => !Object.hasOwn(ERROR_CODES, code))
      .map((code) => `${path}: ${code}`),
  );
}

function missingClasses(files: readonly SourceFile[]): string[] {
  const sources = files.map(({ text }) => text).join("\n");
  return Object.values(ERROR_CODES)
    .map(({ error }) => error)
    .filter((error) => !new RegExp(`class ${error}\\b`).test(sources));
}

/** Each `@throws` of a class of the catalogue names the class's code right after it. */
function throwsWithoutCode({ path, text }: SourceFile): string[] {
  return Object.entries(ERROR_CODES).flatMap(([code, { error }]) =>
    text
      .split(`@throws ${error}`)
      .slice(1)
      .filter((after) => !after.startsWith(` (\`${code}\`)`))
      .map(() => `${path}: @throws ${error}`),
  );
}
