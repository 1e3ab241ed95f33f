import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runTransitions, transitions } from "../../src/engine/transitions.ts";
import { catalog } from "../../src/sql/catalog.ts";
import { tablesOf } from "../../src/sql/tables.ts";

/** The statements that docs/learn.md has in full, in the order of a step's life. */
const IN_FULL = [
  "submit_runs",
  "submit_keyed_runs",
  "claim_steps",
  "renew_leases",
  "complete_steps",
  "complete_own_row",
  "release_steps",
  "discard_steps",
  "look",
  "promote_steps",
  "reclaim_steps",
  "find_exhausted_steps",
  "find_unactivated_steps",
  "end_runs",
  "retry_run",
  "trim_runs",
] as const;

/** The page with its generated parts as the sources say; a part is what stands between `<!-- begin: name -->` and `<!-- end: name -->`. */
export function withGeneratedParts(page: string, sourceFolder: string): string {
  let text = page;
  for (const [name, part] of Object.entries(generatedParts(sourceFolder))) {
    const [begin, end] = [`<!-- begin: ${name} -->\n`, `<!-- end: ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/learn.md has no place for "${name}"`);
    text = `${text.slice(0, from)}${begin}${part}\n${text.slice(to)}`;
  }
  return text;
}

function generatedParts(sourceFolder: string): Readonly<Record<string, string>> {
  const docs = docstrings(join(sourceFolder, "sql"));
  return {
    "node states": stateDiagram(transitions),
    "run states": stateDiagram(runTransitions),
    statements: IN_FULL.map((name) => statementInFull(name, docs)).join("\n\n"),
    others: catalog
      .map(({ name }) => name)
      .filter((name) => !IN_FULL.some((shown) => shown === name))
      .map((name) => `- \`${name}\`: ${firstSentence(docs.get(name) ?? "")}`)
      .join("\n"),
  };
}

type Move = Readonly<{ from: string | null; to: string; by: string; attempt?: string }>;

function stateDiagram(moves: readonly Move[]): string {
  const labels = new Map<string, Set<string>>();
  for (const { from, to, by, attempt } of moves) {
    const arrow = `${from ?? "[*]"} --> ${to}`;
    const charge = attempt === undefined || attempt === "unchanged" ? "" : ` (attempt ${attempt})`;
    labels.set(arrow, (labels.get(arrow) ?? new Set()).add(`${by}${charge}`));
  }
  const arrows = [...labels].map(([arrow, by]) => `  ${arrow}: ${[...by].join(", ")}`);
  return ["```mermaid", "stateDiagram-v2", ...arrows, "```"].join("\n");
}

function statementInFull(name: string, docs: ReadonlyMap<string, string>): string {
  const statement = catalog.find((one) => one.name === name);
  if (statement === undefined) throw new Error(`there is no statement ${name}`);
  const text = statement.text(tablesOf("public")).replaceAll('"public".', "");
  return `### ${name}\n\n${docs.get(name) ?? ""}\n\n\`\`\`sql\n${text}\n\`\`\``;
}

/** What the sources say of each statement, by its name: the comment before its definition, as one paragraph. */
function docstrings(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const found = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const [, comment = "", name = ""] =
      /\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const \w+ = defineStatement\b[^]*?name: "(\w+)"/.exec(text) ?? [];
    return name === "" ? [] : [[name, unwrapped(comment)] as const];
  });
  return new Map(found);
}

function unwrapped(comment: string): string {
  return comment
    .replace(/^\s*\* ?/gm, "")
    .trim()
    .replace(/\n{2,}/g, "\u0000")
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("\u0000", "\n\n")
    .replace(/\{@link (\w+)\}/g, "`$1`");
}

function firstSentence(text: string): string {
  return /^[^]*?\.(?=\s|$)/.exec(text)?.[0] ?? text;
}
