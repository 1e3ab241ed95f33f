import { AssertionError } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import type { DefinitionRuntime } from "../builder/definition.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import type { RunState } from "../model/states.ts";
import { readStartedRuns, type StartedRunRow } from "../sql/testing/read-started-runs.ts";
import type { Installed } from "./installed.ts";

/** A job that was enqueued, or a workflow's run that was submitted. */
export interface EnqueuedRun<In> {
  /** The run's id. */
  readonly id: string;
  /** As the caller gave it, through JSON; `undefined`: none. */
  readonly input: In;
  /** The run's state now. */
  readonly state: RunState;
  /** A job's queue; a workflow's, if its submit named one. */
  readonly queue: string | null;
  /** A job's priority; a workflow's, if its submit named one. */
  readonly priority: number | null;
  /** The tags that its start gave it. */
  readonly tags: readonly string[];
  /** The key that its start gave it. */
  readonly idempotencyKey: string | null;
  /** The `traceparent` that its start gave it. */
  readonly traceparent: string | null;
  /** When its first node is due, while that is scheduled. */
  readonly startsAt: Date | null;
}

/** What a test knows of a run. Objects in `input` may leave properties out. */
export type ExpectedRun<In> = { readonly [Key in Exclude<keyof EnqueuedRun<In>, "input">]?: EnqueuedRun<In>[Key] } & {
  readonly input?: PartOf<In>;
};
type PartOf<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: PartOf<T[Key]> }
    : T;

const FIELDS = ["id", "input", "state", "queue", "priority", "tags", "idempotencyKey", "traceparent", "startsAt"];
/** So many runs are listed in an error. */
const SHOWN_MAX = 20;

/** The runs of a definition that no other run has started, oldest first. */
export async function readEnqueued<In>(
  installed: Installed,
  { kind, name }: DefinitionRuntime,
): Promise<EnqueuedRun<In>[]> {
  const rows: StartedRunRow[] = [];
  for (const bucket of await installed.buckets())
    rows.push(...(await installed.run(readStartedRuns, { bucket, kind, name })));
  return rows
    .sort((a, b) => a.created_us - b.created_us || (a.id < b.id ? -1 : 1))
    .map((row) => ({
      id: row.id,
      // What the database holds is what the definition's types say: it was checked when it was stored.
      input: (row.has_input ? row.input : undefined) as In,
      state: row.state as RunState,
      queue: row.queue,
      priority: row.priority,
      tags: row.tags ?? [],
      idempotencyKey: row.idempotency_key,
      traceparent: row.traceparent,
      startsAt: row.due_ms === null ? null : new Date(row.due_ms),
    }));
}

/** The first run that is as expected. @throws AssertionError with those that are there */
export async function assertEnqueued<In>(
  installed: Installed,
  definition: DefinitionRuntime,
  expected: ExpectedRun<In>,
): Promise<EnqueuedRun<In>> {
  const { kind, name } = definition;
  rejectUnknownKeys(expected, FIELDS, "assertEnqueued");
  const runs = await readEnqueued<In>(installed, definition);
  const found = runs.find((run) => includes(run, expected));
  if (found !== undefined) return found;
  const shown = runs.slice(-SHOWN_MAX).map((run) => `  ${inspect(run, { breakLength: Number.POSITIVE_INFINITY })}`);
  const there = runs.length === 0 ? "there is none at all." : `of ${runs.length}, the last are:\n${shown.join("\n")}`;
  throw new AssertionError({
    message: `No run of ${kind} "${name}" is as ${inspect(expected)}; ${there}`,
    actual: runs,
    expected,
    operator: "assertEnqueued",
    stackStartFn: assertEnqueued,
  });
}

/** Whether a value has all that another one names. */
function includes(actual: unknown, expected: unknown): boolean {
  if (!isRecord(expected) || !isRecord(actual)) return isDeepStrictEqual(actual, expected);
  return Object.entries(expected).every(([key, part]) => includes(actual[key], part));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
