import type { Client } from "pg";
import type { Statement } from "../../src/sql/statement.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import {
  explainStatement,
  type PlanFigures,
  type PlanLimits,
  type PlanMode,
  planProblems,
} from "../support/plan-gate.ts";
import { claimCases } from "./plan-cases/claim-cases.ts";
import { completeCases } from "./plan-cases/complete-cases.ts";
import { failCases } from "./plan-cases/fail-cases.ts";
import { queueCases } from "./plan-cases/queue-cases.ts";
import { readCases } from "./plan-cases/read-cases.ts";
import { steerCases } from "./plan-cases/steer-cases.ts";
import { submitCases } from "./plan-cases/submit-cases.ts";
import { sweepCases } from "./plan-cases/sweep-cases.ts";

/** One statement with parameters that make it work on the rows of a volume, and what that may cost. */
export interface PlanCase {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Rows that the statement has to touch: its batch, and what follows from it. */
  readonly items: number;
  /** What it returns when it has done its work, so that no case measures a statement that finds nothing. */
  readonly expected: (rows: readonly Record<string, unknown>[]) => unknown;
  /** Per item, apart from {@link FIXED}. */
  readonly buffers: number;
  readonly rows: number;
  /** Tables that may be read as a whole where they are empty. */
  readonly seqScans?: readonly string[];
}

/** What a statement may cost apart from its items: descents of indexes, dead entries, lanes. */
const FIXED = { buffers: 250, rows: 800, ms: 60 } as const;
/** A batch of 200 takes some 10 ms on a quiet machine; a plan that compares pairs takes seconds. */
const MS_PER_ITEM = 0.6;
/** Far below the price from which on a server compiles a plan (100,000), for it grows with the tables in a few cases. */
const PLANNED_COST_MAX = 20_000;
/** A page or two: a row per queue that was ever paused, a row per database of the server. */
const SMALL_TABLES = ["cyclone_queues", "pg_database"];
/** Time is the smallest of so many tries: others use the machine too. */
const TRIES = 3;

const tables = tablesOf("public");

export function planCase<Params, Row>(
  definition: Omit<PlanCase, "text" | "values"> & {
    readonly statement: Statement<Params, Row>;
    readonly params: Params;
  },
): PlanCase {
  const { statement, params, ...rest } = definition;
  return { ...rest, text: statement.text(tables), values: statement.params(params) };
}

/** Every statement that a worker or a client sends, most of them in several sizes and shapes. */
export function planCases(): readonly PlanCase[] {
  return [
    ...submitCases(),
    ...claimCases(),
    ...completeCases(),
    ...failCases(),
    ...sweepCases(),
    ...steerCases(),
    ...readCases(),
    ...queueCases(),
  ];
}

/** What a case may cost in tables of any size. */
export function limitsOf({ items, buffers, rows, seqScans = [] }: PlanCase): PlanLimits {
  return {
    buffers: FIXED.buffers + buffers * items,
    rowsRead: FIXED.rows + rows * items,
    executionMs: FIXED.ms + MS_PER_ITEM * items,
    plannedCost: PLANNED_COST_MAX,
    sortedRows: FIXED.rows + 6 * items,
    seqScans: [...SMALL_TABLES, ...seqScans],
  };
}

/** Runs a case, again if only its time is beyond the limits, and says where it costs more than it may. */
export async function problemsOf(
  client: Client,
  mode: PlanMode,
  planCase: PlanCase,
  limits: PlanLimits,
): Promise<string[]> {
  // A generic plan's costs are guesses, so that some servers compile it before they run it; the engine sends none.
  const unlimited = Number.POSITIVE_INFINITY;
  const { executionMs: maxMs = unlimited, plannedCost = unlimited } =
    mode === "generic" ? { executionMs: unlimited, plannedCost: unlimited } : limits;
  const problems = (figures: PlanFigures): string[] =>
    planProblems(figures, { ...limits, executionMs: maxMs, plannedCost });
  let best: PlanFigures | undefined;
  for (let i = 0; i < TRIES; i++) {
    const figures = await explainStatement(client, mode, planCase, { warmUps: 0 });
    if (best === undefined || figures.executionMs < best.executionMs) best = figures;
    if (figures.executionMs <= maxMs) return problems(figures);
  }
  return best === undefined ? [] : problems(best);
}
