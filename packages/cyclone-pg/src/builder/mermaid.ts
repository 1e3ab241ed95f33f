import type { NodeKind } from "../model/states.ts";
import type { GraphEdge } from "./run.ts";

/** What a drawing shows of a graph. */
export interface DrawnGraph {
  readonly nodes: readonly { readonly name: string; readonly kind: NodeKind; readonly step: string | null }[];
  readonly edges: readonly GraphEdge[];
  readonly result: string | null;
}

/**
 * The graph as a Mermaid flowchart. Names are data: nodes have ids of their own (`n0`, `n1` …) and names stand in quoted
 * labels, where everything but letters, digits and harmless signs is written as a character code.
 */
export function renderMermaid(graph: DrawnGraph): string {
  const ids = new Map(graph.nodes.map((node, index) => [node.name, `n${index}`]));
  const idOf = (name: string): string => ids.get(name) ?? "n";
  const lines = ["flowchart TD"];
  for (const { name, kind, step } of graph.nodes) {
    const label =
      step === null || step === name ? escapeLabel(name) : `${escapeLabel(name)} #40;${escapeLabel(step)}#41;`;
    const shape = kind === "action" ? `(["${label}"])` : `["${label}"]`;
    lines.push(`  ${idOf(name)}${shape}`);
  }
  for (const { from, to, kind } of graph.edges) {
    lines.push(`  ${idOf(from)} ${kind === "data" ? "-->" : "-.->"} ${idOf(to)}`);
  }
  if (graph.result !== null) lines.push("  classDef result stroke-width:3px", `  class ${idOf(graph.result)} result`);
  return `${lines.join("\n")}\n`;
}

function escapeLabel(name: string): string {
  // A leading dash would be read as a list of Markdown.
  return name.replace(/^-|[^\p{L}\p{M}\p{N} _/-]/gu, (sign) => {
    const code = sign.codePointAt(0) ?? 0;
    // Line breaks and their like become visible: U+2400 and following picture them.
    return `#${code < 0x20 ? 0x2400 + code : code};`;
  });
}
