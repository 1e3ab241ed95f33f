import type { DefinitionRuntime } from "../../builder/definition.ts";
import { IdempotencyKeyReusedError } from "../../errors/idempotency-key-reused-error.ts";
import { findKeyedRuns } from "../../sql/submit/find-keyed-runs.ts";
import { type Entry, inputText } from "./new-runs.ts";
import type { RunInTransaction } from "./write-runs.ts";

/** A run that a start made or found. */
export interface StartedRun {
  readonly id: string;
  readonly existing: boolean;
}

const BATCH_MAX = 1_000;

/**
 * The runs of a start in the order of its inputs: the new ones, and for each key that was taken the run that holds it.
 * @param inserted ids of the keyed runs that are new
 * @throws IdempotencyKeyReusedError (`CYCLONE_IDEMPOTENCY_KEY_REUSED`) if a key was taken with another input
 */
export async function startedRuns(
  run: RunInTransaction,
  definition: DefinitionRuntime,
  entries: readonly Entry[],
  inserted: ReadonlySet<string>,
  maxPayloadBytes: number,
): Promise<StartedRun[]> {
  const runs: StartedRun[] = new Array(entries.length);
  const taken: Entry[] = [];
  for (const entry of entries) {
    if (entry.key === undefined || inserted.has(entry.id)) runs[entry.place] = { id: entry.id, existing: false };
    else taken.push(entry);
  }
  for (const group of groupsOfOneBucket(taken)) {
    const rows = await run(findKeyedRuns, {
      bucket: group[0]?.bucket ?? 0,
      kind: definition.kind,
      name: definition.name,
      keys: group.map((entry) => entry.key ?? ""),
      inputs: group.map((entry) => inputText(definition, entry.input, maxPayloadBytes)),
    });
    const byPlace = new Map(rows.map((row) => [Number(row.place), row]));
    for (const [i, entry] of group.entries()) {
      const row = byPlace.get(i + 1);
      if (row === undefined) throw keyReleased(entry);
      if (row.same !== "true")
        throw new IdempotencyKeyReusedError(definition.kind, definition.name, entry.key ?? "", row.id);
      // Our own id: the reply to an earlier try of this start was lost.
      runs[entry.place] = { id: row.id, existing: row.id !== entry.id };
    }
  }
  return runs;
}

/** The run was trimmed between the two statements: as a serialization failure, so that the start is simply tried again. */
function keyReleased(entry: Entry): Error {
  return Object.assign(
    new Error(`The run that held the idempotency key "${entry.key ?? ""}" has just been removed: try again.`),
    { code: "40001" },
  );
}

/** Entries are sorted by bucket. */
function* groupsOfOneBucket(entries: readonly Entry[]): Generator<Entry[]> {
  let group: Entry[] = [];
  for (const entry of entries) {
    if (group.length > 0 && (group.length >= BATCH_MAX || group[0]?.bucket !== entry.bucket)) {
      yield group;
      group = [];
    }
    group.push(entry);
  }
  if (group.length > 0) yield group;
}
