import { randomUUID } from "node:crypto";
import { Client as PgClient } from "pg";
import { inject } from "vitest";
import { execute } from "../../src/db/execute.ts";
import type { Run, StartOptions } from "../../src/index.ts";
import { bucketOf } from "../../src/model/run-id.ts";
import { claimSteps } from "../../src/sql/claim/claim-steps.ts";
import { completeOwnRow } from "../../src/sql/complete/complete-own-row.ts";
import { NOTHING_ISOLATED } from "../../src/sql/isolation.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import type { CrashWorld } from "./crash-world.ts";

const tables = tablesOf("public");

export interface DeadWorker {
  /** Starts the run inside the transaction in which the step is claimed, so that no live worker comes first. */
  readonly start: (options: Pick<StartOptions, "tx">) => Promise<Run<unknown>>;
  /** The step of the run's first node. */
  readonly step: string;
  /** How long its lease still is. */
  readonly leaseMs: number;
  /** Whether it completed the step by a completionTx, and then died before it activated what follows. */
  readonly completed?: boolean;
}

/** Long enough ago for the sweep to say that an activation was missed. */
const MISSED_AGO = "3 seconds";

/**
 * Starts a run and claims its first node as a worker that is never heard of again, by the engine's own statements; its call is
 * in the history.
 */
export async function startByDeadWorker(world: CrashWorld, dead: DeadWorker): Promise<Run<unknown>> {
  const tx = new PgClient({ connectionString: world.database.url });
  await tx.connect();
  try {
    await tx.query("begin");
    const run = await dead.start({ tx });
    const bucket = bucketOf(run.id, inject("postgres").bucketCount);
    const [claimed] = await execute(tx, tables, claimSteps, {
      bucket,
      queues: ["default"],
      steps: [dead.step],
      quotas: [1],
      sole: [true],
      since: ["-infinity"],
      limit: 1,
      owner: randomUUID(),
      leaseMs: dead.leaseMs,
      inputBytesMax: 1_000_000,
      isolation: { ...NOTHING_ISOLATED, only: [run.id] },
    });
    if (claimed === undefined || claimed.run_id === null)
      throw new Error(`step ${dead.step} of run ${run.id} wasn't available`);
    const { key, item, epoch, node } = claimed;
    world.history.append({ type: "start", run: run.id, node, epoch: null, pid: 0, at: Date.now() });
    if (dead.completed === true) {
      await tx.query("insert into ledger (run_id, node, epoch) values ($1, $2, $3)", [run.id, node, epoch]);
      await execute(tx, tables, completeOwnRow, { bucket, runId: run.id, key, item, epoch, output: null, token: null });
      await tx.query(
        `update cyclone_steps set finished_at = finished_at - interval '${MISSED_AGO}' where run_id = $1 and node = $2`,
        [run.id, node],
      );
    }
    await tx.query("commit");
    return run;
  } finally {
    await tx.end();
  }
}
