/** How a statement is planned: as the driver's unnamed statement is, or a prepared one with its two kinds of plans. */
export type PlanMode = "one-shot" | "custom" | "generic";

/** What a statement cost. Planning's own buffers are left out, and the WAL of BEGIN and COMMIT. */
export interface PlanFigures {
  readonly mode: PlanMode;
  /** Rows that it returned. */
  readonly rows: number;
  /** Shared buffers by what happened to them; `total` is those that were looked at: hit and read. */
  readonly buffers: {
    readonly total: number;
    readonly hit: number;
    readonly read: number;
    readonly dirtied: number;
    readonly written: number;
  };
  /**
   * Rows that came out of, or were thrown away by, each type of node that scans or joins; what a nested loop compares in vain
   * stands here even if it costs no buffer.
   */
  readonly rowsRead: Readonly<Record<string, number>>;
  /** Their sum. */
  readonly rowsReadTotal: number;
  readonly wal: { readonly records: number; readonly fullPageImages: number; readonly bytes: number };
  readonly seqScans: readonly { readonly table: string; readonly rows: number }[];
  readonly sorts: readonly { readonly key: string; readonly rows: number; readonly onDisk: boolean }[];
  /** Names of the indexes that were scanned. */
  readonly indexes: readonly string[];
  /** What the planner expected, in its own unit. */
  readonly plannedCost: number;
  readonly planningMs: number;
  readonly executionMs: number;
  /** EXPLAIN's own output. */
  readonly plan: ExplainedPlan;
}

/** The output of EXPLAIN (FORMAT JSON). */
export interface ExplainedPlan {
  readonly Plan: PlanNode;
  readonly "Planning Time"?: number;
  readonly "Execution Time"?: number;
}

export interface PlanNode {
  readonly "Node Type": string;
  readonly Plans?: readonly PlanNode[];
  readonly [property: string]: unknown;
}

/** Sums up what EXPLAIN said. */
export function planFigures(mode: PlanMode, plan: ExplainedPlan): PlanFigures {
  const nodes = flatten(plan.Plan).filter((node) => number(node, "Actual Loops") > 0);
  const sum = (property: string): number =>
    executedApart(plan.Plan, nodes).reduce((total, node) => total + number(node, property), 0);
  const rowsRead = rowsByNodeType(nodes);
  const hit = sum("Shared Hit Blocks");
  const read = sum("Shared Read Blocks");
  return {
    mode,
    rows: number(plan.Plan, "Actual Rows"),
    buffers: {
      total: hit + read,
      hit,
      read,
      dirtied: sum("Shared Dirtied Blocks"),
      written: sum("Shared Written Blocks"),
    },
    rowsRead,
    rowsReadTotal: Object.values(rowsRead).reduce((total, rows) => total + rows, 0),
    wal: { records: sum("WAL Records"), fullPageImages: sum("WAL FPI"), bytes: sum("WAL Bytes") },
    seqScans: nodes
      .filter((node) => node["Node Type"] === "Seq Scan")
      .map((node) => ({ table: String(node["Relation Name"]), rows: handled(node) })),
    sorts: nodes
      .filter((node) => node["Node Type"].endsWith("Sort"))
      .map((node) => ({
        key: String(node["Sort Key"]),
        rows: passed(node),
        onDisk: node["Sort Space Type"] === "Disk",
      })),
    indexes: nodes.flatMap((node) => (typeof node["Index Name"] === "string" ? [node["Index Name"]] : [])),
    plannedCost: Math.round(number(plan.Plan, "Total Cost")),
    planningMs: plan["Planning Time"] ?? 0,
    executionMs: plan["Execution Time"] ?? 0,
    plan,
  };
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/**
 * The nodes whose (inclusive) figures add up to the statement's: the root, and data-modifying CTEs that nobody reads, since
 * they run after the root has ended. A CTE that is read is part of its reader's figures.
 */
function executedApart(root: PlanNode, nodes: readonly PlanNode[]): PlanNode[] {
  const readers = new Set(nodes.map((node) => node["CTE Name"]));
  const unread = nodes.filter((node) => {
    const subplan = node["Subplan Name"];
    const name = typeof subplan === "string" ? /^CTE (.*)$/s.exec(subplan)?.[1] : undefined;
    return name !== undefined && !readers.has(name);
  });
  return [root, ...unread];
}

function rowsByNodeType(nodes: readonly PlanNode[]): Record<string, number> {
  const rows: Record<string, number> = {};
  for (const node of nodes) {
    const type = node["Node Type"];
    const count = type.endsWith("Scan") ? handled(node) : discarded(node);
    if (count > 0 && type !== "Bitmap Index Scan") rows[type] = (rows[type] ?? 0) + count;
  }
  return rows;
}

/** Rows that a node gave on, over all its loops. */
const passed = (node: PlanNode): number => Math.round(number(node, "Actual Rows") * number(node, "Actual Loops"));

/** Rows that it looked at and threw away. */
const discarded = (node: PlanNode): number =>
  Math.round(
    (number(node, "Rows Removed by Filter") +
      number(node, "Rows Removed by Index Recheck") +
      number(node, "Rows Removed by Join Filter")) *
      number(node, "Actual Loops"),
  );

const handled = (node: PlanNode): number => passed(node) + discarded(node);

function number(node: PlanNode, property: string): number {
  const value = node[property];
  return typeof value === "number" ? value : 0;
}
