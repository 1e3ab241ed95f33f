import type { Client, ClientBase } from "pg";
import { type ExplainedPlan, type PlanFigures, type PlanMode, planFigures } from "./plan-gate/plan-figures.ts";
import { sqlLiteral } from "./plan-gate/sql-literal.ts";

export type { PlanFigures, PlanMode } from "./plan-gate/plan-figures.ts";
export { absentStatistics, freshStatistics, staleStatistics } from "./plan-gate/statistics.ts";

/** A parameterised statement with its parameters. */
export interface MeasuredStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface ExplainOptions {
  /**
   * Runs before the measured one, all rolled back: they read the pages into the cache, and leave the pages' full images to
   * the WAL behind. @default 1
   */
  readonly warmUps?: number;
}

/** A statement that was prepared, and planned, at some moment; a generic plan stays as it was then. */
export interface PreparedPlan {
  /** Runs it in a transaction that is rolled back. */
  explain(values: readonly unknown[], options?: ExplainOptions): Promise<PlanFigures>;
  deallocate(): Promise<void>;
}

const explain = "explain (analyze, buffers, wal, format json)";
let prepared = 0;

/** Runs a statement in a transaction that is rolled back, and says what it cost. */
export async function explainStatement(
  client: Client | ClientBase,
  mode: PlanMode,
  statement: MeasuredStatement,
  options: ExplainOptions = {},
): Promise<PlanFigures> {
  if (mode === "one-shot") {
    return measure(client, mode, options, { text: `${explain} ${statement.text}`, values: [...statement.values] });
  }
  const plan = await preparePlan(client, mode, statement);
  try {
    return await plan.explain(statement.values, options);
  } finally {
    await plan.deallocate();
  }
}

/**
 * Prepares a statement and has it planned, without running it: for a plan that was made at a bad moment and used at another.
 *
 * @param client must be the same session until it is deallocated
 */
export async function preparePlan(
  client: Client | ClientBase,
  mode: "custom" | "generic",
  statement: MeasuredStatement,
): Promise<PreparedPlan> {
  const name = `plan_gate_${++prepared}`;
  const execute = (values: readonly unknown[]): string =>
    values.length === 0 ? `execute ${name}` : `execute ${name} (${values.map(sqlLiteral).join(", ")})`;
  await client.query(`prepare ${name} as ${statement.text}`);
  await rolledBack(client, mode, () => client.query(`explain ${execute(statement.values)}`));
  return {
    explain: (values, options = {}) =>
      measure(client, mode, options, { text: `${explain} ${execute(values)}`, values: [] }),
    deallocate: async () => {
      await client.query(`deallocate ${name}`);
    },
  };
}

/** What a statement may cost. What isn't named isn't limited. */
export interface PlanLimits {
  readonly buffers?: number;
  readonly rowsRead?: number;
  readonly walBytes?: number;
  readonly executionMs?: number;
  /** A server compiles what is planned to cost more than `jit_above_cost` (100,000), which takes longer than any statement of the engine. */
  readonly plannedCost?: number;
  /** Tables that may be read sequentially. @default none */
  readonly seqScans?: readonly string[];
  /** How many rows may be sorted, all sorts together. @default 0 */
  readonly sortedRows?: number;
}

/** Where a statement costs more than it may, one readable line each. */
export function planProblems(figures: PlanFigures, limits: PlanLimits): string[] {
  const over = (what: string, seen: number, max: number | undefined): string[] =>
    max === undefined || seen <= max ? [] : [`${figures.mode}: ${seen} ${what}, at most ${max} allowed`];
  const sorted = figures.sorts.reduce((total, sort) => total + sort.rows, 0);
  return [
    ...over("buffers", figures.buffers.total, limits.buffers),
    ...over(`rows read (${JSON.stringify(figures.rowsRead)})`, figures.rowsReadTotal, limits.rowsRead),
    ...over("bytes of WAL", figures.wal.bytes, limits.walBytes),
    ...over("ms", figures.executionMs, limits.executionMs),
    ...over("planned cost", figures.plannedCost, limits.plannedCost),
    ...over(`rows sorted (by ${figures.sorts.map((sort) => sort.key).join("; ")})`, sorted, limits.sortedRows ?? 0),
    ...figures.seqScans
      .filter((scan) => limits.seqScans?.includes(scan.table) !== true)
      .map((scan) => `${figures.mode}: ${scan.table} is read sequentially, ${scan.rows} rows`),
  ];
}

async function measure(
  client: ClientBase,
  mode: PlanMode,
  { warmUps = 1 }: ExplainOptions,
  query: { text: string; values: unknown[] },
): Promise<PlanFigures> {
  let figures: PlanFigures | undefined;
  for (let run = 0; run <= warmUps; run++) {
    const { rows } = await rolledBack(client, mode, () => client.query<{ "QUERY PLAN": ExplainedPlan[] }>(query));
    const [plan] = rows[0]?.["QUERY PLAN"] ?? [];
    if (plan === undefined) throw new Error("EXPLAIN gave no plan");
    figures = planFigures(mode, plan);
  }
  if (figures === undefined) throw new Error("warmUps is at least 0");
  return figures;
}

async function rolledBack<Result>(client: ClientBase, mode: PlanMode, work: () => Promise<Result>): Promise<Result> {
  await client.query("begin");
  try {
    if (mode !== "one-shot") await client.query(`set local plan_cache_mode = force_${mode}_plan`);
    return await work();
  } finally {
    await client.query("rollback");
  }
}
