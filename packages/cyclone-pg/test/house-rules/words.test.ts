import { expect, test } from "vitest";
import { lexemesOf, type SourceFile, sourceFiles } from "./source-files.ts";

/** Words that have a proper one in this project, and that one. Comments and messages are searched for `word`s. */
const BANNED: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /(?<!\bitem )\btasks?\b/i, instead: "step, action or node (an element of a forEach is an item task)" },
  { pattern: /\bpipelines?\b/i, instead: "workflow" },
  // JavaScript's own class keeps its name, with its capital letter.
  { pattern: /\bpromises?\b/, instead: "future (JavaScript's is a Promise)" },
  // Postgres has deferred constraints.
  { pattern: /\bdeferreds?\b(?! (constraint|trigger))/i, instead: "future" },
  { pattern: /\bvert(ex|ices)\b/i, instead: "node" },
  { pattern: /\bactivit(y|ies)\b(?!_)/i, instead: "action" },
  { pattern: /\bexecution ids?\b/i, instead: "run id" },
  { pattern: /\bvisibility timeouts?\b/i, instead: "lease" },
  { pattern: /\bdequeue[sd]?\b/i, instead: "claim" },
  { pattern: /\brequeue[sd]?\b/i, instead: "reclaim, retry or give back" },
  { pattern: /\bdead.?letter/i, instead: "discarded" },
];

/** Identifiers of others that can't be named otherwise. */
const FOREIGN_IDENTIFIERS = new Set(["Promise", "PromiseLike", "PromiseSettledResult", "queueMicrotask"]);

test("comments, messages and names use the project's words", () => {
  expect(sourceFiles({ tests: true }).flatMap(wrongWords)).toEqual([]);
});

test("the word rule can fail", () => {
  const wrong = (text: string) => wrongWords({ path: "a.ts", text });
  expect(wrong("// runs the task")).toHaveLength(1);
  expect(wrong("// an item task, and Promise<string>")).toEqual([]);
  expect(wrong("/**\n * an item\n * task */ const x = 1;")).toEqual([]);
  expect(wrong("const taskName = 1;")).toHaveLength(1);
  expect(wrong("const itemTask = 1;")).toEqual([]);
  expect(wrong("const pendingTasks = 1;")).toHaveLength(1);
  expect(wrong("class Pipeline {}")).toHaveLength(1);
  expect(wrong("let executionId = 1;")).toHaveLength(1);
  expect(wrong('throw new Error("the pipeline failed")')).toHaveLength(1);
  expect(wrong("/** Returns a promise. */ const x = 1;")).toHaveLength(1);
  expect(wrong("new Promise<void>(() => {})")).toEqual([]);
  expect(wrong("const isPromise = 1;")).toEqual([]);
  expect(wrong('import type { X } from "./task.ts";')).toHaveLength(1);
});

function wrongWords({ path, text }: SourceFile): string[] {
  const { identifiers, comments, strings } = lexemesOf(text);
  const names = [...new Set(identifiers)].filter((name) => !FOREIGN_IDENTIFIERS.has(name) && !/Promise/.test(name));
  const found = [
    ...names.map((name) => [name, spacedOut(name)] as const),
    ...[...comments, ...strings.filter((text) => !text.startsWith("node:"))].map(
      (prose) => [prose, unwrapped(prose)] as const,
    ),
  ];
  return found.flatMap(([shown, searched]) =>
    BANNED.filter(({ pattern }) => pattern.test(searched)).map(
      ({ instead }) => `${path}: say ${instead} in: ${shown.trim().slice(0, 80)}`,
    ),
  );
}

/** A comment's lines as one, so that two words are neighbours also where a line ends between them. */
function unwrapped(prose: string): string {
  return prose.replace(/\s*\n\s*(\*|\/\/)?\s*/g, " ");
}

/** `pendingTasks` as "pending Tasks", so that words can be told apart. */
function spacedOut(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll("_", " ");
}
