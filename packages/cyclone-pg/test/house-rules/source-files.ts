import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** One file of the library's sources. */
export interface SourceFile {
  /** Relative to `src`, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** The library's sources, without generated files; its unit tests only where asked for. */
export function sourceFiles({ tests = false } = {}): SourceFile[] {
  return readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".generated.ts"))
    .map((entry) => relative(SRC, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => tests || !/\.test(-d)?\.ts$/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(SRC, path), "utf8") }));
}

/** The kinds of things that a rule looks into. */
export interface Lexemes {
  readonly identifiers: readonly string[];
  readonly comments: readonly string[];
  /** Strings and templates; each template is one text, with `${…}` for what is spliced in. */
  readonly strings: readonly string[];
}

/** Takes a source text apart, by the compiler's own parser. */
export function lexemesOf(text: string): Lexemes {
  const file = ts.createSourceFile("sample.ts", text, ts.ScriptTarget.Latest, true);
  const identifiers: string[] = [];
  const strings: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) identifiers.push(node.text);
    else if (ts.isStringLiteralLike(node)) strings.push(node.text);
    else if (ts.isTemplateExpression(node)) {
      strings.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("${…}"));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { identifiers, comments: commentsOf(text), strings };
}

function commentsOf(text: string): string[] {
  const comments = new Map<number, string>();
  const file = ts.createSourceFile("sample.ts", text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    for (const ranges of [
      ts.getLeadingCommentRanges(text, node.getFullStart()),
      ts.getTrailingCommentRanges(text, node.getEnd()),
    ]) {
      for (const { pos, end } of ranges ?? []) comments.set(pos, text.slice(pos, end));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...comments.values()];
}
