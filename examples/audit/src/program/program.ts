import { realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createClient } from "cyclone-pg";
import { auditHandlers } from "../audit/audit-handlers.ts";
import { createAuditTables } from "../audit/audit-tables.ts";
import { openDatabase } from "./database.ts";
import type { Display } from "./display.ts";
import { displayLog } from "./display-log.ts";
import type { ProgramOptions } from "./program-options.ts";
import { type AuditSetting, runAudit } from "./run-audit.ts";
import { Stopped } from "./stop-signals.ts";
import { tellFailures } from "./tell-failures.ts";
import { UsageError } from "./usage-error.ts";
import { installationMark, waitForChange } from "./wait-for-change.ts";
import { type Keyboard, waitForEnter } from "./wait-for-enter.ts";

/** What the program needs from its surroundings. */
export interface Surroundings {
  readonly display: Display;
  readonly keyboard: Keyboard;
  readonly stop: AbortSignal;
  /** The clone that the program is part of. */
  readonly cloneFolder: string;
}

type AuditOptions = Extract<ProgramOptions, { kind: "audit" }>;

/**
 * A dead worker's packages are free for others after this long. Short, so that a second start goes on soon; a living
 * worker renews its leases, however long a package takes.
 */
const LEASE_TTL = "5s";
/** The run's input is the list of all packages: some thousand paths are more than the default limit of 1 MiB. */
const PAYLOAD_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Runs the program to its end.
 *
 * @returns the exit code
 * @throws UsageError
 */
export async function runProgram(options: AuditOptions, surroundings: Surroundings): Promise<number> {
  const { display, stop, cloneFolder } = surroundings;
  const folder = auditedFolder(options.folder ?? cloneFolder);
  display.lines([`Cyclone audit of ${folder}`]);
  const dataDir = resolve(options.data ?? join(cloneFolder, ".cyclone/postgres"));
  await using database = await openDatabase(options.database ? { url: options.database } : { dataDir }, display);
  const { pool } = database;
  await using client = createClient({
    connection: database.url,
    handlers: auditHandlers(options.slowMs),
    concurrency: options.concurrency,
    leaseTtl: LEASE_TTL,
    maxPayloadBytes: PAYLOAD_BYTES_MAX,
    log: displayLog(display),
  });
  display.stage("Migrating: Cyclone's tables, and those of the audit …");
  await client.migrate();
  await createAuditTables(pool);
  stop.throwIfAborted();
  tellFailures(client, display);
  await client.start();
  const setting = { client, pool, display, folder, stop };
  try {
    return options.once ? exitCode(await runAudit(setting)) : await auditAgainAndAgain(setting, surroundings.keyboard);
  } finally {
    display.endProgress();
    if (stop.aborted) display.stage("Stopping …");
    await client.stop();
  }
}

/** Audits, waits for Enter or for an installation, and audits again, until stopped. */
async function auditAgainAndAgain(setting: AuditSetting, keyboard: Keyboard): Promise<number> {
  const { display, folder, stop } = setting;
  for (;;) {
    const mark = installationMark(folder);
    await runAudit(setting);
    display.lines([
      "Press Enter to audit again, Ctrl-C to stop. An installation in the folder starts an audit by itself.",
    ]);
    const waiting = new AbortController();
    const signal = AbortSignal.any([stop, waiting.signal]);
    try {
      await Promise.race([waitForEnter(keyboard, signal), waitForChange(folder, mark, signal)]);
    } catch (error) {
      if (error instanceof Stopped) return 0;
      throw error;
    } finally {
      waiting.abort(new Stopped("no longer waited for"));
    }
  }
}

function exitCode(agrees: boolean): number {
  return agrees ? 0 : 1;
}

function auditedFolder(typed: string): string {
  const folder = resolve(typed);
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no folder ${folder}`);
  if (!stats.isDirectory()) throw new UsageError(`${folder} isn't a folder`);
  return realpathSync(folder);
}
