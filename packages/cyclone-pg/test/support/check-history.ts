import { Client } from "pg";
import { quoteIdentifier } from "../../src/model/names.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { attemptChecks } from "./check-history/attempt-checks.ts";
import { auditTable } from "./check-history/audit.ts";
import { auditChecks } from "./check-history/audit-checks.ts";
import type { Check, CheckedTables } from "./check-history/check.ts";
import { graphChecks } from "./check-history/graph-checks.ts";
import { handlerChecks } from "./check-history/handler-checks.ts";
import { ledgerChecks } from "./check-history/ledger-checks.ts";
import { livenessChecks } from "./check-history/liveness-checks.ts";
import { submitChecks } from "./check-history/submit-checks.ts";
import { type HistoryEvent, readHistory } from "./history.ts";
import type { Violation } from "./violation.ts";

export { installAudit } from "./check-history/audit.ts";
export { createLedger } from "./check-history/ledger-checks.ts";

export interface CheckOptions {
  /** `safety`: what holds at every commit, faults or not. `liveness`: that, and that everything has finished. */
  readonly mode: "safety" | "liveness";
  /** @default "public" */
  readonly schema?: string;
  /** What the processes recorded: the file, or its events. Without it the checks of submits and calls are left out. */
  readonly history?: string | readonly HistoryEvent[];
  /**
   * The table that handlers write through completionTx, and the steps that do (absent: every action, and no step). Without it
   * the ledger isn't checked.
   */
  readonly ledger?: { readonly table: string; readonly steps?: readonly string[] };
  /** Names of checks to leave out. */
  readonly skip?: readonly string[];
}

/** Runs a statement, all on one connection. */
export type CheckQuery = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

const shownMax = 20;

/**
 * Checks a database, and what processes recorded about it, against the invariants. It reads one snapshot, so workers may go on
 * meanwhile (in safety mode). The audit trail is checked if `installAudit` was called.
 *
 * @param url the database
 * @returns the violations; empty if there are none
 */
export async function checkHistory(url: string, options: CheckOptions): Promise<Violation[]> {
  const client = new Client({ connectionString: url, application_name: "cyclone-check" });
  await client.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    return await runChecks((text, values) => client.query(text, values), options);
  } finally {
    await client.end();
  }
}

/** The same by a transaction that the caller has begun, whose first statement is in here. */
export async function runChecks(query: CheckQuery, options: CheckOptions): Promise<Violation[]> {
  const { schema = "public", history, mode, ledger, skip = [] } = options;
  const before = eventsOf(history);
  const audit = auditTable(schema);
  const { rows } = await query("select to_regclass($1) is not null as audited", [audit]);
  const after = eventsOf(history);
  const tables: CheckedTables = { ...tablesOf(schema), audit, ledger: quoteIdentifier(ledger?.table ?? "ledger") };
  const present = {
    audit: rows[0]?.["audited"] === true,
    ledger: ledger !== undefined,
    calls: after.some((event) => event.type === "start"),
  };
  // A test's tables have no statistics, and a nested loop over 20,000 nodes takes minutes; hashed, the same joins take a second.
  // Before version 18 that counts as enormous costs, for which each query would be compiled first.
  await query("set local enable_nestloop = off");
  await query("set local jit = off");
  const violations: Violation[] = [];
  for (const check of allChecks(ledger?.steps)) {
    if (check.mode === "liveness" && mode === "safety") continue;
    if (skip.includes(check.name) || (check.needs !== undefined && !present[check.needs])) continue;
    violations.push(...(await runCheck(query, check, tables, check.reads === "after" ? after : before)));
  }
  return violations;
}

/** The names of all checks, so that a test can tell that each has its mutant. */
export const checkNames = (): string[] => allChecks(undefined).map((check) => check.name);

function allChecks(ledgerSteps: readonly string[] | undefined): readonly Check[] {
  return [
    ...submitChecks,
    ...graphChecks,
    ...attemptChecks,
    ...handlerChecks,
    ...ledgerChecks(ledgerSteps),
    ...auditChecks,
    ...livenessChecks,
  ];
}

async function runCheck(
  query: CheckQuery,
  check: Check,
  tables: CheckedTables,
  events: readonly HistoryEvent[],
): Promise<Violation[]> {
  const values = check.records === undefined ? [] : [JSON.stringify(check.records(events))];
  const { rows } = await query(check.sql(tables), values);
  const violations = rows.slice(0, shownMax).map((row) => ({ check: check.name, message: String(row["message"]) }));
  const more = rows.length - violations.length;
  return more === 0 ? violations : [...violations, { check: check.name, message: `… and ${more} more` }];
}

function eventsOf(history: CheckOptions["history"]): readonly HistoryEvent[] {
  if (history === undefined) return [];
  return typeof history === "string" ? readHistory(history).events : history;
}
