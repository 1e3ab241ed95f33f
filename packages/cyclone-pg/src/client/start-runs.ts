import type { DefinitionRuntime } from "../builder/definition.ts";
import type { Queryable } from "../builder/start-options.ts";
import { errorCode } from "../db/database-errors.ts";
import type { SubmitBatch } from "../engine/submit/batches.ts";
import { type StartedRun, startedRuns } from "../engine/submit/find-existing.ts";
import { drawBatches, type Entry, newEntries, type SubmitSettings } from "../engine/submit/new-runs.ts";
import { type RunInTransaction, RunWriter } from "../engine/submit/write-runs.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { notify } from "../sql/notify/notify.ts";
import type { Tables } from "../sql/tables.ts";
import { refuseWithoutTransaction } from "./open-transaction.ts";
import type { ResolvedStart } from "./resolve-start.ts";
import type { Statements } from "./statements.ts";

export interface StarterOptions {
  readonly statements: Statements;
  readonly tables: Tables;
  readonly bucketCount: () => Promise<number>;
  readonly maxPayloadBytes: number;
  /** The channel to notify inside a caller's transaction; `undefined`: don't. */
  readonly channelInTx: string | undefined;
  /** Runs were committed in a transaction of ours. */
  readonly onCommitted: (runs: readonly StartedRun[], definition: DefinitionRuntime) => void;
}

/** One start: what is to be written, and how. */
interface Start extends SubmitSettings {
  readonly entries: readonly Entry[];
  readonly time: ResolvedStart["time"];
  readonly keyed: boolean;
}

/** Starts runs, in one transaction: the caller's, or one of ours that survives lost connections. */
export class Starter {
  readonly #options: StarterOptions;

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /** @returns the runs in the order of the inputs */
  async start(
    definition: DefinitionRuntime,
    inputs: readonly unknown[],
    keyOf: ((place: number) => string) | undefined,
    options: ResolvedStart,
  ): Promise<StartedRun[]> {
    const { maxPayloadBytes } = this.#options;
    const entries = newEntries(definition, inputs, keyOf, await this.#options.bucketCount());
    const start: Start = { definition, entries, keyed: keyOf !== undefined, maxPayloadBytes, ...options };
    if (options.tx !== undefined) return this.#inCallersTransaction(start, options.tx);
    const runs = await this.#options.statements.retrying((attempt) => this.#inOwnTransaction(start, attempt));
    this.#options.onCommitted(runs, definition);
    return runs;
  }

  // The database's errors reach the caller as they are: its transaction, its retry.
  async #inCallersTransaction(start: Start, tx: Queryable): Promise<StartedRun[]> {
    const { tables, channelInTx } = this.#options;
    const run: RunInTransaction = async (statement, params) => {
      refuseWithoutTransaction(tx);
      const { rows } = await tx.query(statement.text(tables), statement.params(params));
      if (Array.isArray(rows)) return rows;
      // Some libraries' own `query` gives the rows themselves.
      throw new InvalidOptionError(
        "tx",
        "tx.query(text, values) must give { rows }: wrap an ORM's transaction by its function of cyclone-pg/orm",
      );
    };
    const runs = await this.#write(run, start);
    if (channelInTx !== undefined) await run(notify, { channel: channelInTx, payloads: ["work"] });
    return runs;
  }

  async #inOwnTransaction(start: Start, attempt: number): Promise<StartedRun[]> {
    const { statements } = this.#options;
    try {
      if (start.entries.length === 1) return await this.#writeOne(start);
      return await statements.transaction((run) => this.#write(run, start));
    } catch (error) {
      // The reply to an earlier try was lost. Ids are ours, so that a duplicate one says that it had been committed.
      if (attempt === 1 || errorCode(error) !== "23505") throw error;
      return start.entries.map(({ id }) => ({ id, existing: false }));
    }
  }

  /** A run that fits one statement needs no transaction around it. */
  async #writeOne(start: Start): Promise<StartedRun[]> {
    const { statements } = this.#options;
    const batches: SubmitBatch[] = [];
    for await (const batch of drawBatches(start.entries, start)) batches.push(batch);
    const write = async (run: RunInTransaction): Promise<StartedRun[]> => {
      const writer = new RunWriter(run, start.time, start.keyed);
      for (const batch of batches) await writer.write(batch);
      return startedRuns(run, start.definition, start.entries, writer.inserted, start.maxPayloadBytes);
    };
    return batches.length === 1 ? write(statements.once) : statements.transaction(write);
  }

  async #write(run: RunInTransaction, start: Start): Promise<StartedRun[]> {
    const writer = new RunWriter(run, start.time, start.keyed);
    for await (const batch of drawBatches(start.entries, start)) await writer.write(batch);
    return startedRuns(run, start.definition, start.entries, writer.inserted, start.maxPayloadBytes);
  }
}
