import type { DefinitionRuntime } from "../../builder/definition.ts";
import { graphOf } from "../../builder/graph-of.ts";
import { encodePayload } from "../../model/payload.ts";
import { bucketOf, newRunId, slotOfKey } from "../../model/run-id.ts";
import { Batches, type SubmitBatch } from "./batches.ts";
import { type Deadline, rowsOf } from "./rows-of.ts";

/** A run that is about to be started: its place among the inputs, its id and bucket, its idempotency key. */
export interface Entry {
  readonly place: number;
  readonly input: unknown;
  readonly id: string;
  readonly bucket: number;
  readonly key: string | undefined;
}

/** What one start says about all its runs. */
export interface SubmitSettings {
  readonly definition: DefinitionRuntime;
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly tags: readonly string[] | null;
  readonly retentionMs: number | null;
  readonly deadline: Deadline;
  readonly traceparent: string | null;
  readonly maxPayloadBytes: number;
}

/**
 * Gives each input an id. Keyed ones are sorted by bucket and key: keys are taken in one order by everybody, so that two submits of the
 * same keys don't wait crosswise.
 */
export function newEntries(
  definition: DefinitionRuntime,
  inputs: readonly unknown[],
  keyOf: ((place: number) => string) | undefined,
  bucketCount: number,
): Entry[] {
  const entries = inputs.map((input, place): Entry => {
    const key = keyOf?.(place);
    const id = newRunId(key === undefined ? undefined : slotOfKey(definition.kind, definition.name, key));
    return { place, input, id, bucket: bucketOf(id, bucketCount), key };
  });
  if (keyOf === undefined) return entries;
  return entries.sort((a, b) => a.bucket - b.bucket || ((a.key ?? "") < (b.key ?? "") ? -1 : 1));
}

/** Draws the graphs one after the other and gives batches as they fill up, so that memory stays bounded. */
export async function* drawBatches(entries: readonly Entry[], settings: SubmitSettings): AsyncGenerator<SubmitBatch> {
  const { definition, queue, priority, tags, deadline, traceparent, maxPayloadBytes } = settings;
  const batches = new Batches();
  for (const { input, id, bucket, key } of entries) {
    const graph = graphOf(definition, input, { queue, priority, maxPayloadBytes });
    const run = {
      id,
      kind: definition.kind,
      name: definition.name,
      input: inputText(definition, input, maxPayloadBytes),
      tags,
      idempotencyKey: key ?? null,
      priority: priority ?? null,
      queue: queue ?? null,
      failFast: definition.options.failFast,
      retentionMs: settings.retentionMs ?? definition.options.retentionMs,
      deadline,
      traceparent,
    };
    yield* batches.add(bucket, rowsOf(graph instanceof Promise ? await graph : graph, run));
  }
  yield* batches.rest();
}

/** JSON text of a start's input as the caller gave it. */
export function inputText({ kind, name }: DefinitionRuntime, input: unknown, maxPayloadBytes: number): string | null {
  return encodePayload(input, `the input of ${kind} "${name}"`, maxPayloadBytes);
}
