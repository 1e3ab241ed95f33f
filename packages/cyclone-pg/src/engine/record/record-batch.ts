import { completeSteps } from "../../sql/complete/complete-steps.ts";
import { discardSteps } from "../../sql/fail/discard-steps.ts";
import { releaseSteps } from "../../sql/fail/release-steps.ts";
import type { Statement } from "../../sql/statement.ts";
import { compareLeases, leaseArrays } from "../lease.ts";
import type { EndedRun, Outcome, Settlement } from "../outcome.ts";

// record: running → completed / scheduled / available / discarded for what is ready at one time, one statement and one transaction
// per kind and bucket. A crash before the commit leaves running rows whose leases expire; after it, nothing is missing but wake-ups.
// Locks: own rows, downstream rows, runs' rows, each in ascending order.

/** Runs a statement in a transaction of its own; `extraMs`: more time for one that carries much data. */
export type RunStatement = <Params, Row>(
  statement: Statement<Params, Row>,
  params: Params,
  extraMs?: number,
) => Promise<Row[]>;

/** The kinds of settlements that share a statement. */
export type RecordKind = "complete" | "release" | "discard";

const BYTES_PER_MS = 1_000;

export interface Recorded {
  /** The members whose row wasn't ours any more: nothing of them is recorded. */
  readonly lost: readonly Settlement[];
  /** Downstream nodes that became available. */
  readonly activated: number;
  readonly ended: readonly EndedRun[];
  /** Some runs fail fast: their other nodes are to be cancelled at once. */
  readonly failingFast?: boolean;
}

export function recordKindOf(outcome: Outcome): RecordKind {
  return outcome.kind === "release" || outcome.kind === "discard" ? outcome.kind : "complete";
}

/** Records settlements of one kind and bucket, all or none. @throws what the database throws */
export async function recordBatch(
  run: RunStatement,
  kind: RecordKind,
  settlements: readonly Settlement[],
  owner: string,
): Promise<Recorded> {
  const sorted = [...settlements].sort((a, b) => compareLeases(a.lease, b.lease));
  switch (kind) {
    case "complete":
      return complete(run, sorted);
    case "release":
      return release(run, sorted, owner);
    case "discard":
      return discard(run, sorted, owner);
  }
}

async function complete(run: RunStatement, members: readonly Settlement[]): Promise<Recorded> {
  const outputs = members.map(({ outcome }) => (outcome.kind === "completed" ? outcome.output : null));
  const committed = members.map(({ outcome }) => outcome.kind === "committed");
  const leases = leaseArrays(members.map(({ lease }) => lease));
  const [row] = await run(completeSteps, { ...leases, outputs, committed }, extraMsFor(outputs));
  const names = row?.ended_names ?? [];
  const states = row?.ended_states ?? [];
  const ended = (row?.ended_ids ?? []).map(
    (runId, i): EndedRun => ({
      runId,
      name: names[i] ?? "",
      state: states[i] === "completed" ? "completed" : "failed",
    }),
  );
  return { lost: missing(members, row?.done), activated: row?.activated ?? 0, ended };
}

/** A megabyte may take a second on a slow line: a limit that is too short would send it again and again. */
function extraMsFor(outputs: readonly (string | null)[]): number {
  return outputs.reduce((sum, output) => sum + (output?.length ?? 0), 0) / BYTES_PER_MS;
}

async function release(run: RunStatement, members: readonly Settlement[], owner: string): Promise<Recorded> {
  const outcomes = members.map(({ outcome }) => outcome).filter((outcome) => outcome.kind === "release");
  const [row] = await run(releaseSteps, {
    ...leaseArrays(members.map(({ lease }) => lease)),
    outcomes: outcomes.map((outcome) => outcome.outcome),
    delaysMs: outcomes.map((outcome) => outcome.delayMs),
    errors: outcomes.map((outcome) => (outcome.error === null ? null : JSON.stringify(outcome.error))),
    owner,
  });
  const givenBack = outcomes.filter((outcome) => outcome.delayMs <= 0).length;
  return { lost: missing(members, row?.done), activated: givenBack, ended: [] };
}

async function discard(run: RunStatement, members: readonly Settlement[], owner: string): Promise<Recorded> {
  const outcomes = members.map(({ outcome }) => outcome).filter((outcome) => outcome.kind === "discard");
  const [row] = await run(discardSteps, {
    ...leaseArrays(members.map(({ lease }) => lease)),
    outcomes: outcomes.map((outcome) => outcome.outcome),
    errors: outcomes.map((outcome) => JSON.stringify(outcome.error)),
    owner,
  });
  const names = row?.ended_names ?? [];
  const ended = (row?.ended_ids ?? []).map((runId, i): EndedRun => ({ runId, name: names[i] ?? "", state: "failed" }));
  return { lost: missing(members, row?.done), activated: 0, ended, failingFast: row?.failing_fast ?? false };
}

function missing(members: readonly Settlement[], done: readonly number[] | null | undefined): readonly Settlement[] {
  if (done?.length === members.length) return [];
  const moved = new Set(done);
  return members.filter((_, i) => !moved.has(i + 1));
}
