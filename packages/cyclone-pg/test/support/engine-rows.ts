import type { TestDatabase } from "./test-database.ts";

/** A node as its row holds it. */
export interface StepRow {
  readonly run_id: string;
  readonly key: number;
  readonly node: string;
  readonly step: string;
  readonly kind: string;
  readonly state: string;
  readonly queue: string;
  readonly priority: number;
  readonly pending: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly reclaims: number;
  readonly max_reclaims: number | null;
  readonly snoozes: number;
  readonly lease_epoch: number;
  readonly lease_owner: string | null;
  readonly lease_expiry: Date | null;
  readonly available_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly timeout_ms: string | null;
  readonly unactivated: boolean | null;
  readonly input: unknown;
  readonly output: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
}

/** A recorded call that didn't complete its node. */
export interface AttemptRow {
  readonly node: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly outcome: string;
  readonly error: { readonly name: string; readonly message: string; readonly code?: string } | null;
}

/** All nodes of a run, in the order of the build. */
export async function stepRows(database: TestDatabase, runId: string): Promise<StepRow[]> {
  const { rows } = await database.query<StepRow>("select * from cyclone_steps where run_id = $1 order by key", [runId]);
  return rows;
}

/** One node of a run, by name; of a job the only one. */
export async function stepRow(database: TestDatabase, runId: string, node?: string): Promise<StepRow> {
  const rows = await stepRows(database, runId);
  const row = node === undefined ? rows[0] : rows.find((candidate) => candidate.node === node);
  if (row === undefined) throw new Error(`run ${runId} has no node ${node ?? "at all"}`);
  return row;
}

/** The recorded calls of a run, oldest first. */
export async function attemptRows(database: TestDatabase, runId: string): Promise<AttemptRow[]> {
  const { rows } = await database.query<AttemptRow>(
    `select s.node, a.epoch, a.attempt, a.outcome::text as outcome, a.error
     from cyclone_attempts a join cyclone_steps s using (bucket, run_id, key, item)
     where a.run_id = $1 order by a.finished_at, s.key, a.epoch`,
    [runId],
  );
  return rows;
}

/** States of a run's nodes, by name. */
export async function statesOf(database: TestDatabase, runId: string): Promise<Record<string, string>> {
  const rows = await stepRows(database, runId);
  return Object.fromEntries(rows.map((row) => [row.node, row.state]));
}

/** Lets the leases of a run's running nodes run out, as if their worker had died a while ago. */
export async function expireLeases(database: TestDatabase, runId: string): Promise<number> {
  const { rowCount } = await database.query(
    "update cyclone_steps set lease_expiry = statement_timestamp() - interval '1 second' where run_id = $1 and state = 'running'",
    [runId],
  );
  return rowCount ?? 0;
}
