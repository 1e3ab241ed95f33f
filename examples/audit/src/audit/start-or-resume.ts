import { createHash } from "node:crypto";
import { type Client, IdempotencyKeyReusedError, type Run, RunNotFoundError } from "cyclone-pg";
import type { Pool } from "pg";
import type { AuditSummary } from "./audit-summary.ts";
import { audit } from "./audit-workflow.ts";

/** A run of the audit that is under way. */
export interface AuditRun {
  readonly run: Run<AuditSummary>;
  /** How many packages it is about. */
  readonly packages: number;
  /** Set if another start submitted it: an earlier one that didn't see its end, or one that is at work too. */
  readonly resumed: { readonly done: number } | null;
}

interface RecordedRun {
  readonly run_id: string;
  readonly number: number;
  readonly packages: number;
}

/**
 * Goes on with the folder's unfinished run, if there is one; else lists the packages and submits a new run.
 *
 * The run's id is recorded in `audit_runs` by the transaction that submits the run: after a crash either both are there or neither.
 * The idempotency key is the folder's next number, so of two processes that start at one time one submits and the other
 * gets the same run.
 */
export async function startOrResume(
  client: Client,
  pool: Pool,
  folder: string,
  list: () => readonly string[],
): Promise<AuditRun> {
  const last = await lastRun(pool, folder);
  if (last !== undefined && (await isUnfinished(client, last.run_id))) return resume(client, pool, last);
  try {
    return await submit(client, pool, folder, (last?.number ?? 0) + 1, list());
  } catch (error) {
    if (!(error instanceof IdempotencyKeyReusedError)) throw error;
    // Another process was first, and had another list: its run is the one.
    const theirs = await lastRun(pool, folder);
    if (theirs === undefined) throw error;
    return resume(client, pool, theirs);
  }
}

/** How many packages of a run are done: their rows. */
export async function countDone(pool: Pool, runId: string): Promise<number> {
  const { rows } = await pool.query<{ done: number }>(
    "select count(*)::int as done from audit_packages where run_id = $1",
    [runId],
  );
  return rows[0]?.done ?? 0;
}

async function lastRun(pool: Pool, folder: string): Promise<RecordedRun | undefined> {
  const { rows } = await pool.query<RecordedRun>(
    "select run_id, number, packages from audit_runs where folder = $1 order by number desc limit 1",
    [folder],
  );
  return rows[0];
}

async function isUnfinished(client: Client, runId: string): Promise<boolean> {
  try {
    return (await client.run(runId, audit).state()) === "running";
  } catch (error) {
    // Finished long ago, and trimmed since.
    if (error instanceof RunNotFoundError) return false;
    throw error;
  }
}

async function resume(client: Client, pool: Pool, recorded: RecordedRun): Promise<AuditRun> {
  const done = await countDone(pool, recorded.run_id);
  return { run: client.run(recorded.run_id, audit), packages: recorded.packages, resumed: { done } };
}

async function submit(
  client: Client,
  pool: Pool,
  folder: string,
  number: number,
  packages: readonly string[],
): Promise<AuditRun> {
  const folderHash = createHash("sha256").update(folder).digest("hex");
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    const run = await audit.submit(client, { folder, packages }, { tx, idempotencyKey: `${folderHash}/${number}` });
    await tx.query(
      `insert into audit_runs (run_id, folder, number, packages) values ($1, $2, $3, $4)
       on conflict do nothing`,
      [run.id, folder, number, packages.length],
    );
    await tx.query("commit");
    // A run that was there already is another process's, which started at the same time.
    const resumed = run.existing ? { done: await countDone(pool, run.id) } : null;
    return { run, packages: packages.length, resumed };
  } catch (error) {
    await tx.query("rollback").catch(() => {}); // the connection may be gone; the first error is the one to tell
    throw error;
  } finally {
    tx.release();
  }
}
