import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "cyclone-pg";
import { RunNotCompletedError } from "cyclone-pg";
import type { Pool } from "pg";
import type { AuditSummary } from "../audit/audit-summary.ts";
import { type AuditRun, countDone, startOrResume } from "../audit/start-or-resume.ts";
import { checkTotals, readTableTotals } from "../report/check-totals.ts";
import { renderReport } from "../report/render-report.ts";
import { listPackages } from "../scan/list-packages.ts";
import type { Display } from "./display.ts";

/** What an audit works with. */
export interface AuditSetting {
  readonly client: Client;
  readonly pool: Pool;
  readonly display: Display;
  /** Absolute. */
  readonly folder: string;
  /** Ends the waiting; the run itself stays, for the next start. */
  readonly stop: AbortSignal;
}

const PROGRESS_INTERVAL_MS = 200;

/**
 * One audit from its list to its report, or the rest of one that an earlier start left.
 *
 * @returns true if the run completed and all its totals agree
 * @throws the signal's reason when stopped
 */
export async function runAudit(setting: AuditSetting): Promise<boolean> {
  const { client, pool, display, folder, stop } = setting;
  const found = await startOrResume(client, pool, folder, () => list(folder, display));
  announce(found, display);
  stop.throwIfAborted();
  const startedAt = performance.now();
  const summary = await watchToEnd(found, setting);
  if (summary === undefined) return false;
  const seconds = (performance.now() - startedAt) / 1000;
  const worked = found.packages - (found.resumed?.done ?? 0);
  if (worked > 0)
    display.note(`${worked} packages in ${seconds.toFixed(1)} s (${Math.round(worked / seconds)} a second)`);
  display.stage("Report");
  const mismatches = checkTotals(found.packages, await readTableTotals(pool, found.run.id), summary);
  display.lines(["", ...renderReport({ folder, summary, mismatches }), ""]);
  if (found.resumed !== null) await tellChanges(found, setting);
  return mismatches.length === 0;
}

function list(folder: string, display: Display): readonly string[] {
  display.stage(`Listing the packages under ${folder} …`);
  const startedAt = performance.now();
  const { packages, unreadable } = listPackages(folder);
  display.note(`${packages.length} packages found in ${Math.ceil(performance.now() - startedAt)} ms`);
  for (const problem of unreadable) display.note(`can't look into ${problem}`);
  return packages;
}

function announce({ run, packages, resumed }: AuditRun, display: Display): void {
  if (resumed === null) {
    const nodes =
      packages === 0 ? "1 node: the summary" : `${packages + 1} nodes: one for each package, and the summary`;
    display.stage(`Submitted run ${run.id} with ${nodes}`);
    return;
  }
  display.stage(`Resuming run ${run.id}: ${resumed.done} of ${packages} packages done`);
  display.note("what the earlier start was in the middle of is taken up when its leases have expired, within seconds");
}

/** A run is about what was listed when it was submitted; after a resumed one the folder may have other packages by now. */
async function tellChanges({ run }: AuditRun, { pool, display, folder }: AuditSetting): Promise<void> {
  const { rows } = await pool.query<{ path: string }>("select path from audit_packages where run_id = $1", [run.id]);
  const audited = new Set(rows.map(({ path }) => path));
  const present = new Set(listPackages(folder).packages);
  const added = [...present].filter((path) => !audited.has(path)).length;
  const removed = [...audited].filter((path) => !present.has(path)).length;
  if (added + removed === 0) return;
  display.lines([
    `Since this run began ${added} packages were added and ${removed} removed: the next audit has them right.`,
    "",
  ]);
}

/** Shows the progress until the run has ended; undefined if it didn't complete. */
async function watchToEnd(found: AuditRun, { pool, display, stop }: AuditSetting): Promise<AuditSummary | undefined> {
  const ended = new AbortController();
  const showing = showProgress(found, pool, display, AbortSignal.any([ended.signal, stop]));
  try {
    return await found.run.result({ signal: stop });
  } catch (error) {
    if (!(error instanceof RunNotCompletedError)) throw error;
    display.endProgress();
    display.note(`the run didn't complete: ${error.message}`);
    return undefined;
  } finally {
    ended.abort();
    await showing;
    display.endProgress();
  }
}

async function showProgress(
  { run, packages }: AuditRun,
  pool: Pool,
  display: Display,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    try {
      display.progress(await countDone(pool, run.id), packages);
    } catch {
      // The database is away for a moment: the run waits for it, and so does the count.
    }
    await delay(PROGRESS_INTERVAL_MS, undefined, { signal: until }).catch(() => {});
  }
}
