import type { DepRow, RunRow, StepRow } from "../../sql/submit/rows.ts";
import type { RunRows } from "./rows-of.ts";

/** What one statement of a submit inserts. */
export interface SubmitBatch {
  readonly bucket: number;
  readonly runs: RunRow[];
  readonly steps: StepRow[];
  readonly deps: DepRow[];
}

/** Limits of one statement, so that memory stays bounded on both sides whatever is submitted. */
const ROWS_MAX = 2_000;
const BYTES_MAX = 4 * 1024 * 1024;

/**
 * Gathers rows into batches of bounded size, one bucket each. A run that is larger than a batch is continued in further ones,
 * which hold only nodes and edges.
 */
export class Batches {
  readonly #open = new Map<number, { batch: SubmitBatch; rows: number; bytes: number }>();

  /** Adds a run; returns the batches that are full by it. */
  add(bucket: number, rows: RunRows): SubmitBatch[] {
    const full: SubmitBatch[] = [];
    const room = (bytes: number): SubmitBatch => {
      let open = this.#open.get(bucket);
      if (open === undefined || open.rows >= ROWS_MAX || open.bytes >= BYTES_MAX) {
        if (open !== undefined) full.push(open.batch);
        open = { batch: { bucket, runs: [], steps: [], deps: [] }, rows: 0, bytes: 0 };
        this.#open.set(bucket, open);
      }
      open.rows += 1;
      open.bytes += bytes;
      return open.batch;
    };
    room(rows.run.input?.length ?? 0).runs.push(rows.run);
    for (const step of rows.steps) room(step.input?.length ?? 0).steps.push(step);
    for (const dep of rows.deps) room(0).deps.push(dep);
    return full;
  }

  /** What is left, smallest bucket first. */
  rest(): SubmitBatch[] {
    const batches = [...this.#open.values()].map((open) => open.batch);
    this.#open.clear();
    return batches.sort((a, b) => a.bucket - b.bucket);
  }
}
