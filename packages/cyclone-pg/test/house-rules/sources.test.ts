import ts from "typescript";
import { expect, test } from "vitest";
import { lexemesOf, type SourceFile, sourceFiles } from "./source-files.ts";

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
/** Holds the logger that is used where none is given: it prints warnings and errors. */
const DEFAULT_LOGGER = "client/console-log.ts";
const VAGUE_NAMES = /^(utils?|helpers?|common|misc|shared|types|managers?|constants)(\.test)?\.ts$/;

test("files are small, and functions fit on a screen", () => {
  expect(sourceFiles({ tests: true }).flatMap(tooLong)).toEqual([]);
});

test("the size rule can fail", () => {
  const lines = (count: number) => "// x\n".repeat(count);
  expect(tooLong({ path: "a.ts", text: lines(400) })).toEqual(["a.ts has 401 lines"]);
  expect(tooLong({ path: "a.ts", text: `function long() {\n${lines(70)}}` })).toEqual(["a.ts: long has 72 lines"]);
  expect(tooLong({ path: "sql/a.ts", text: `const text = () => {\n${lines(70)}}` })).toEqual([]);
  expect(tooLong({ path: "a.ts", text: `function short() {\n${lines(60)}}` })).toEqual([]);
});

test("file names say what is inside, in kebab-case", () => {
  expect(sourceFiles({ tests: true }).flatMap(badName)).toEqual([]);
});

test("the name rule can fail", () => {
  const bad = (path: string) => badName({ path, text: "" });
  expect(bad("engine/utils.ts")).toHaveLength(1);
  expect(bad("engine/claimSteps.ts")).toHaveLength(1);
  expect(bad("engine/index.ts")).toHaveLength(1);
  expect(bad("engine/claim-steps.test.ts")).toEqual([]);
  expect(bad("migrations/0001-initial.ts")).toEqual([]);
  expect(bad("index.ts")).toEqual([]);
});

test("nothing reads the environment, prints, or leaves work for later", () => {
  expect(sourceFiles().flatMap(forbiddenPhrases)).toEqual([]);
});

test("the phrase rule can fail", () => {
  const forbidden = (text: string) => forbiddenPhrases({ path: "a.ts", text });
  expect(forbidden('const x = process.env["HOME"];')).toHaveLength(1);
  expect(forbidden("const { env } = process;")).toHaveLength(1);
  expect(forbidden('console.log("x");')).toHaveLength(1);
  expect(forbidden('process.on("SIGTERM", stop);')).toHaveLength(1);
  expect(forbidden("const x = y as any;")).toHaveLength(1);
  expect(forbidden("// TODO: later")).toHaveLength(1);
  expect(forbidden("// TODO(#12): once 14 is gone")).toEqual([]);
  expect(forbidden("// @ts-ignore\nx();")).toHaveLength(1);
  expect(forbidden("// speaks of process.env\nx();")).toEqual([]);
});

function tooLong({ path, text }: SourceFile): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length;
  if (lines > FILE_LINES_MAX) found.push(`${path} has ${lines} lines`);
  // A statement's text is as long as it is; a test's describe holds many tests.
  if (/^(sql|migrations)\//.test(path) || path.endsWith(".test.ts")) return found;
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const from = file.getLineAndCharacterOfPosition(node.getStart()).line;
      const to = file.getLineAndCharacterOfPosition(node.getEnd()).line;
      const name = node.name === undefined ? `the function in line ${from + 1}` : node.name.getText();
      if (to - from + 1 > FUNCTION_LINES_MAX) found.push(`${path}: ${name} has ${to - from + 1} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function badName({ path }: SourceFile): string[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (path === "index.ts") return [];
  const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.test-d)?\.ts$/.test(name);
  return kebab && !VAGUE_NAMES.test(name) && name !== "index.ts" ? [] : [path];
}

function forbiddenPhrases({ path, text }: SourceFile): string[] {
  const { comments } = lexemesOf(text);
  let code = text;
  for (const comment of comments) code = code.replace(comment, "");
  const inCode = [
    /\bprocess\s*\.\s*env\b|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/,
    ...(path === DEFAULT_LOGGER ? [] : [/\bconsole\s*\.\s*\w+\(/]),
    /\bprocess\s*\.\s*(on|once)\(\s*["'](SIG|exit|uncaught|unhandled|beforeExit)/,
    /\bprocess\s*\.\s*exit\(/,
    /\bas any\b/,
  ];
  const inComments = [/\bTODO\b(?!\(#\d+\): )/, /\bFIXME\b|\bXXX\b/, /@ts-(ignore|nocheck)/];
  return [
    ...inCode.filter((pattern) => pattern.test(code)),
    ...inComments.filter((pattern) => comments.some((comment) => pattern.test(comment))),
  ].map((pattern) => `${path} has ${pattern}`);
}
