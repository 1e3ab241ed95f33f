import { isTransient } from "../db/database-errors.ts";
import type { Session } from "../db/session.ts";
import type { Isolation } from "../sql/isolation.ts";
import { findSuspects, type SuspectKind } from "../sql/sweep/find-suspects.ts";

export interface QuarantineOptions {
  readonly session: Session;
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  /** Once per run that is set aside. */
  readonly onIsolated: (runId: string, error: unknown) => void;
}

const AGAIN_AFTER_MS = 5 * 60_000;
const RUNS_MAX = 10_000;

/**
 * Runs with a row that the database refuses to change (a constraint of somebody else's, a damaged value). One such row fails the whole
 * batch it is in, for ever; so it is set aside, reported once, and tried again rarely.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #until = new Map<string, number>();

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Runs a batch of up to `limit` rows without what is set aside. If the database refuses it, its members are tried one by one. */
  async run<Row>(
    bucket: number,
    kind: SuspectKind,
    limit: number,
    batch: (isolation: Isolation, limit: number) => Promise<Row[]>,
  ): Promise<Row[]> {
    try {
      return await batch({ only: null, excluded: this.excluded() }, limit);
    } catch (error) {
      if (isTransient(error)) throw error;
      return this.#oneByOne(bucket, kind, limit, batch);
    }
  }

  /** Sets a run aside. */
  add(runId: string, error: unknown): void {
    const now = performance.now();
    for (const [id, until] of this.#until) if (until <= now && id !== runId) this.#until.delete(id);
    if (this.#until.size >= RUNS_MAX) return;
    if (!this.#until.has(runId)) this.#options.onIsolated(runId, error);
    this.#until.set(runId, now + AGAIN_AFTER_MS);
  }

  excluded(): string[] {
    if (this.#until.size === 0) return [];
    const now = performance.now();
    return [...this.#until].filter(([, until]) => until > now).map(([runId]) => runId);
  }

  async #oneByOne<Row>(
    bucket: number,
    kind: SuspectKind,
    limit: number,
    batch: (isolation: Isolation, limit: number) => Promise<Row[]>,
  ): Promise<Row[]> {
    const { session, queues, steps } = this.#options;
    const suspects = await session.run(findSuspects, { bucket, kind, queues, steps, limit, excluded: this.excluded() });
    const rows: Row[] = [];
    for (const { run_id: runId } of suspects) {
      if (rows.length >= limit) break;
      try {
        rows.push(...(await batch({ only: [runId], excluded: [] }, limit - rows.length)));
        this.#until.delete(runId);
      } catch (error) {
        if (isTransient(error)) throw error;
        this.add(runId, error);
      }
    }
    return rows;
  }
}
