import type { HistoryEvent } from "../history.ts";
import { installAudit } from "./audit.ts";
import { createLedger } from "./ledger-checks.ts";
import { type Query, StandInMoves } from "./stand-in-moves.ts";

/** The runs of the healthy data. */
export const runs = {
  /** A diamond a → b, c → d that has completed; b is an action that failed once and was reclaimed once. */
  completed: "00000000-0000-7000-8000-00000000000a",
  /** a is discarded, so b is cancelled; c, which depends on nothing, has completed. */
  failed: "00000000-0000-7000-8000-00000000000b",
  /** a has completed but isn't activated; b waits for it, c is running, d waits for both. */
  running: "00000000-0000-7000-8000-00000000000c",
} as const;

/**
 * Tables like the migrated ones, but without their constraints, in a schema of their own, so that a mutant can hold what the
 * real ones would refuse; with an audit trail and a ledger. Searches that schema from then on.
 */
export async function createLooseTables(query: Query, schema: string): Promise<void> {
  await query(`create schema ${schema}`);
  for (const table of ["runs", "steps", "deps", "attempts"]) {
    await query(`create table ${schema}.cyclone_${table} (like public.cyclone_${table} including defaults)`);
  }
  await installAudit(query, schema);
  await query(`set search_path = ${schema}, public`);
  await createLedger(query);
}

/** Writes the three runs as the engine would have moved them, so that their audit trail is real. */
export async function writeHealthyData(query: Query, schema: string): Promise<void> {
  const moves = new StandInMoves(query, schema);
  await writeCompletedRun(moves, query);
  await writeFailedRun(moves);
  await writeRunningRun(moves);
}

async function writeCompletedRun(moves: StandInMoves, query: Query): Promise<void> {
  const run = runs.completed;
  const edges = [
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 3],
  ] as const;
  await moves.submit(run, { name: "diamond", key: "key-a", nodes: ["a", "b", "c", "d"], edges });
  await moves.claim([run, 0]);
  await moves.complete([run, 0]);
  await moves.countDown([run, 1]);
  await moves.countDown([run, 2]);
  await moves.claim([run, 1]);
  await moves.fail([run, 1], 1);
  await moves.promote([run, 1]);
  await moves.claim([run, 1]);
  await moves.reclaim([run, 1], 2);
  await moves.claim([run, 1]);
  await query("insert into ledger (run_id, node, epoch) values ($1, 'b', 3)", [run]);
  await moves.complete([run, 1], true);
  await moves.activated([run, 1]);
  await moves.claim([run, 2]);
  await moves.complete([run, 2]);
  await moves.countDown([run, 3], 2);
  await moves.claim([run, 3]);
  await moves.complete([run, 3]);
  await moves.endRun(run, "completed");
}

async function writeFailedRun(moves: StandInMoves): Promise<void> {
  const run = runs.failed;
  await moves.submit(run, { name: "branches", key: null, nodes: ["a", "b", "c"], edges: [[0, 1]] });
  await moves.claim([run, 0]);
  await moves.discard([run, 0], 1);
  await moves.cancel([run, 1]);
  await moves.claim([run, 2]);
  await moves.complete([run, 2]);
  await moves.endRun(run, "failed", 1);
}

async function writeRunningRun(moves: StandInMoves): Promise<void> {
  const run = runs.running;
  const edges = [
    [0, 1],
    [1, 3],
    [2, 3],
  ] as const;
  await moves.submit(run, { name: "diamond", key: "key-c", nodes: ["a", "b", "c", "d"], edges });
  await moves.claim([run, 0]);
  await moves.complete([run, 0], true);
  await moves.claim([run, 2]);
}

const at = { pid: 7, at: 0 } as const;
const submitted = (id: string, type: "invoke" | "ok" | "info" | "fail", key?: string, run?: string): HistoryEvent => ({
  type,
  operation: "submit",
  id,
  key,
  run,
  ...at,
});
const called = (run: string, node: string, epoch: number): HistoryEvent => ({ type: "start", run, node, epoch, ...at });

/** What the processes would have recorded. */
export const healthyEvents: readonly HistoryEvent[] = [
  submitted("1", "invoke", "key-a"),
  submitted("1", "ok", "key-a", runs.completed),
  submitted("2", "invoke"),
  submitted("2", "ok", undefined, runs.failed),
  submitted("3", "invoke", "key-c"),
  submitted("3", "info", "key-c"),
  submitted("4", "invoke", "key-never-written"),
  submitted("5", "invoke", "key-refused"),
  submitted("5", "fail", "key-refused"),
  called(runs.completed, "a", 1),
  called(runs.completed, "b", 1),
  called(runs.completed, "b", 2),
  called(runs.completed, "b", 3),
  called(runs.completed, "c", 1),
  called(runs.completed, "d", 1),
  called(runs.failed, "a", 1),
  called(runs.failed, "c", 1),
  called(runs.running, "a", 1),
  called(runs.running, "c", 1),
];
