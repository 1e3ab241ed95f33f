import { createHash } from "node:crypto";
import { defineAction, defineStep, defineWorkflow } from "cyclone-pg";
import type { AuditSummary } from "./audit-summary.ts";

/** What an audit's run is about. */
export interface AuditInput {
  /** Absolute. */
  readonly folder: string;
  /** The packages' paths relative to it, each once. */
  readonly packages: readonly string[];
}

/** Looks at one package and writes its row. An action: its effect is the row, nobody reads an output of it. */
export const inspect = defineAction<{ folder: string; path: string }>("inspect", {
  maxAttempts: 5,
  backoff: { base: "500ms", max: "10s" },
});

/** Adds up what the inspections wrote. It reads the table, not their outputs: they have none, and there may be thousands. */
export const summarise = defineStep<void, AuditSummary>("summarise", { maxAttempts: 5 });

/** One node per package, all at once, then one that waits for them all. */
export const audit = defineWorkflow("audit", (b, { folder, packages }: AuditInput) => {
  const inspections = packages.map((path) => inspect.do(b, { folder, path }, { name: nodeName(path) }));
  return summarise.do(b, undefined, { after: inspections });
});

const NODE_NAME_MAX = 200;

/** A node is named like its package's path, so that a run's nodes can be read; an overlong path is cut and made unique by a hash. */
export function nodeName(path: string): string {
  const characters = Array.from(path);
  if (characters.length <= NODE_NAME_MAX && !/\[\d+\]$/.test(path)) return path;
  const hash = createHash("sha256").update(path).digest("hex").slice(0, 12);
  return `${hash} …${characters.slice(-150).join("")} (cut)`;
}
