import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sourceFiles } from "./source-files.ts";

const PAGE = readFileSync(fileURLToPath(new URL("../../../../docs/running.md", import.meta.url)), "utf8");
const SOURCES = new Map(sourceFiles().map(({ path, text }) => [path, text]));

test("docs/running.md names every option that the sources know, and no other", () => {
  const definition = source("builder/definition-options.ts");
  const execution = listIn(definition, "const EXECUTION =");
  expect(keysBelow("Options of createClient")).toEqual(listIn(source("client/options.ts"), "const KNOWN ="));
  expect(keysBelow("Options of starts")).toEqual(listIn(source("client/resolve-start.ts"), "const KNOWN ="));
  expect(keysBelow("Options of nodes")).toEqual(listIn(source("builder/node-options.ts"), "const ALLOWED ="));
  expect(keysBelow("Options of steps and actions")).toEqual([...execution, ...listIn(definition, "step:")].sort());
  expect(listIn(definition, "step:")).toEqual(expect.arrayContaining(listIn(definition, "action:")));
  expect(keysBelow("Options of workflows")).toEqual(listIn(definition, "workflow:"));
});

test("docs/running.md has the defaults of the sources", () => {
  const client = defaultsIn(source("client/options.ts"));
  expect(client.length).toBeGreaterThan(8);
  expect(client.filter((given) => !isOnPage("Options of createClient", given))).toEqual([]);
  const definition = defaultsIn(source("builder/definition-options.ts")).filter(({ key }) => key !== "failFast");
  expect(definition.length).toBeGreaterThan(3);
  expect(definition.filter((given) => !isOnPage("Options of steps and actions", given))).toEqual([]);
  const backoff = /DEFAULT_BACKOFF = (\{.*?\})/.exec(source("model/backoff.ts"))?.[1] ?? "not found";
  expect(isOnPage("Options of steps and actions", { key: "backoff", value: backoff })).toBe(true);
});

test("docs/running.md names every event with its payload's fields", () => {
  const text = source("client/events.ts");
  const events = [...bodyOf(text, "export interface ClientEvents").matchAll(/^ {2}"?([\w.]+)"?: (.*);$/gm)];
  expect(keysBelow("Events")).toEqual(events.map(([, name = ""]) => name).sort());
  for (const [, name = "", type = ""] of events) {
    const shared = ["RunEvent", "StepEvent"]
      .filter((base) => type.includes(base))
      .map((base) => fieldsIn(bodyOf(text, `interface ${base}`)));
    expect(codeIn(rowOf("Events", name)[1]), name).toEqual([...shared.flat(), ...fieldsIn(type)].sort());
  }
});

test("the page's rules can fail", () => {
  expect(listIn('const KNOWN = [\n  "a",\n  "b",\n] as const', "const KNOWN =")).toEqual(["a", "b"]);
  expect(defaultsIn('const DEFAULTS = {\n  a: "1s",\n  b: 1_000,\n};')).toEqual([
    { key: "a", value: '"1s"' },
    { key: "b", value: "1000" },
  ]);
  expect(isOnPage("Options of createClient", { key: "leaseTtl", value: '"31s"' })).toBe(false);
  expect(() => rowOf("Events", "no.such.event")).toThrow("no row");
});

function source(path: string): string {
  const text = SOURCES.get(path);
  if (text === undefined) throw new Error(`there is no ${path}`);
  return text;
}

/** The texts of the first list after these words, sorted. */
function listIn(text: string, words: string): string[] {
  const list = text.slice(text.indexOf(words)).match(/\[([^\]]*)\]/)?.[1] ?? "";
  return [...list.matchAll(/"(\w+)"/g)].map(([, key = ""]) => key).sort();
}

/** What is between the braces after these words. */
function bodyOf(text: string, words: string): string {
  const start = text.indexOf(`${words} {`);
  return text.slice(start, text.indexOf("\n}", start));
}

function fieldsIn(type: string): string[] {
  return [...type.matchAll(/readonly (\w+\??):/g)].map(([, field = ""]) => field);
}

interface Default {
  readonly key: string;
  readonly value: string;
}

/** The entries of DEFAULTS that are texts, numbers and booleans. */
function defaultsIn(text: string): Default[] {
  const body = text.slice(text.search(/const DEFAULTS\b/)).match(/\{([^}]*)\}/)?.[1] ?? "";
  return [...body.matchAll(/(\w+): ("[^"]*"|[\d_]+|true|false),/g)].map(([, key = "", value = ""]) => ({
    key,
    value: value.startsWith('"') ? value : value.replaceAll("_", ""),
  }));
}

/** The cells of the table below a heading. */
function rowsBelow(heading: string): string[][] {
  const section = PAGE.split(/^#{2,3} /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) => line.slice(2, -2).split(" | "));
}

function keysBelow(heading: string): string[] {
  return rowsBelow(heading)
    .flatMap(([first]) => codeIn(first))
    .sort();
}

function rowOf(heading: string, key: string): string[] {
  const row = rowsBelow(heading).find(([first]) => codeIn(first).includes(key));
  if (row === undefined) throw new Error(`docs/running.md has no row of ${key} below "${heading}"`);
  return row;
}

function codeIn(cell = ""): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code).sort();
}

/** Whether the option's third cell, its default, has this value as a whole. */
function isOnPage(heading: string, { key, value }: Default): boolean {
  return (
    (rowOf(heading, key)[2] ?? "").split(/[`\s(),]+/).includes(value) || codeIn(rowOf(heading, key)[2]).includes(value)
  );
}
