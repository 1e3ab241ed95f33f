import { randomBytes } from "node:crypto";
import type { PoolClient } from "pg";
import type { BorrowedConnections } from "../../db/borrowed-connections.ts";
import {
  errorCode,
  isConnectionFailure,
  isInterruption,
  isPreparedStatementTrouble,
} from "../../db/database-errors.ts";
import { execute } from "../../db/execute.ts";
import { leadsStraight } from "../../db/leads-straight.ts";
import { destroy } from "../../db/session.ts";
import { within } from "../../db/within.ts";
import type { Lease } from "../../engine/lease.ts";
import { CompletionTxError } from "../../errors/completion-tx-error.ts";
import { completeOwnRow } from "../../sql/complete/complete-own-row.ts";
import type { Tables } from "../../sql/tables.ts";
import { CompletionTxFacade } from "./facade.ts";

export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

/** How a completion in its transaction ended. */
export type CommitResult =
  | "committed"
  /** The lease was lost: all is rolled back. */
  | "lost"
  /** COMMIT was sent and its reply is missing: it has to be looked up. */
  | "unknown";

export interface CompletionTransactionOptions {
  readonly connections: BorrowedConnections;
  readonly tables: Tables;
  readonly isolation: IsolationLevel;
  /** Limit of the engine's own statements and of COMMIT, on our side. */
  readonly timeoutMs: number;
  readonly preparedStatements: PreparedStatements;
  /** Named statements don't work here: a pooler stands between after all. */
  readonly onPrepareTrouble: () => void;
}

/** Whether single-row statements may be prepared under a name: where the connection leads straight to the server, unless it is said. */
export type PreparedStatements = "auto" | boolean;

/**
 * The transaction that commits together with a step's completion. The handler gets a facade; begin, completion and commit are
 * ours. A token that lives only as long as the transaction tells if it was ended behind our back.
 */
export class CompletionTransaction {
  readonly #options: CompletionTransactionOptions;
  readonly #client: PoolClient;
  readonly #token = randomBytes(8).toString("hex");
  readonly #facade: CompletionTxFacade;
  #refusal: unknown;
  /** Why a query of the handler was refused: then what it wrote isn't whole, and may not commit. */
  #refused: unknown;
  #connectionError: unknown;
  #ended = false;
  #prepared = false;

  private constructor(client: PoolClient, options: CompletionTransactionOptions) {
    this.#client = client;
    this.#options = options;
    client.once("error", this.#onError);
    this.#facade = new CompletionTxFacade(client, {
      refusal: () => {
        const refusal = this.#refusal ?? this.#connectionError;
        this.#refused ??= refusal;
        return refusal;
      },
      onFailure: (error) => {
        if (isConnectionFailure(error)) this.#connectionError ??= error;
      },
    });
  }

  readonly #onError = (error: Error): void => {
    this.#connectionError ??= error;
  };

  /** @throws ConnectionError (`CYCLONE_CONNECTION`) if no connection is to be had in time */
  static async begin(options: CompletionTransactionOptions): Promise<CompletionTransaction> {
    const client = await options.connections.acquire();
    const tx = new CompletionTransaction(client, options);
    try {
      // Several statements in one text: `pg` gives a list of results, which its types don't say.
      const results = (await within(
        options.timeoutMs,
        client.query(
          `/* cyclone:begin_completion_tx */ begin isolation level ${options.isolation} read write; set local cyclone.completion_tx = '${tx.#token}'; select pg_backend_pid() as pid`,
        ),
      )) as unknown as { rows: { pid: number }[] }[];
      tx.#prepared = mayPrepare(options.preparedStatements, client, results.at(-1)?.rows[0]?.pid);
      return tx;
    } catch (error) {
      tx.#release(true);
      throw error;
    }
  }

  /** The client for the handler. */
  get client(): PoolClient {
    return this.#facade.client;
  }

  /** Whether the connection broke under the handler, and how. */
  get connectionError(): unknown {
    return this.#connectionError;
  }

  /** The serialization failure or deadlock that the handler's last statement met. */
  get conflict(): unknown {
    return isInterruption(this.#facade.failure) ? this.#facade.failure : undefined;
  }

  /** From now on the handler's queries throw `reason`. */
  refuse(reason: unknown): void {
    this.#refusal ??= reason;
  }

  /**
   * Completes the step and commits, as the last two statements.
   * @throws CompletionTxError (`CYCLONE_COMPLETION_TX`) if the transaction was ended, had failed, or has a query that doesn't end; why a query was refused; what the database throws before COMMIT was sent
   */
  async commit(lease: Lease, output: string | null): Promise<CommitResult> {
    await this.#untilQueriesEnd();
    this.refuse(new CompletionTxError("The handler has settled: its completionTx is closed."));
    if (this.#connectionError !== undefined) {
      this.#release(true);
      throw this.#connectionError;
    }
    if (this.#refused !== undefined) {
      await this.rollback();
      throw this.#refused;
    }
    try {
      const rows = await this.#limited(
        execute(
          this.#client,
          this.#options.tables,
          completeOwnRow,
          { ...lease, output, token: this.#token },
          this.#prepared,
        ),
      );
      if (rows.length === 0) return await this.#whyRefused();
    } catch (error) {
      await this.rollback();
      if (isPreparedStatementTrouble(error)) this.#options.onPrepareTrouble();
      if (errorCode(error) !== "25P02") throw error;
      throw new CompletionTxError(
        "A statement of the completionTx had failed, so it can't commit: let the error out of the handler, or guard the statement by a savepoint.",
        { cause: error },
      );
    }
    return this.#sendCommit();
  }

  /** Undoes everything; at once, if a statement is still under way. */
  async rollback(reason: unknown = new CompletionTxError("The completionTx has been rolled back.")): Promise<void> {
    if (this.#ended) return;
    this.refuse(reason);
    try {
      if (this.#connectionError !== undefined) throw this.#connectionError;
      await this.#limited(
        this.#facade.settled().then(() => (this.#ended ? undefined : this.#client.query("rollback"))),
      );
      this.#release(false);
    } catch {
      this.#release(true);
    }
  }

  /** Undoes everything by closing the connection; what is under way on it fails. */
  abandon(reason: unknown): void {
    this.refuse(reason);
    this.#release(true);
  }

  /** Queries that the handler didn't await. */
  async #untilQueriesEnd(): Promise<void> {
    try {
      await this.#limited(this.#facade.settled());
    } catch (cause) {
      const { timeoutMs } = this.#options;
      const error = new CompletionTxError(
        `A query of the completionTx was still under way ${timeoutMs} ms after the handler had settled: await it inside the handler.`,
        { cause },
      );
      this.abandon(error);
      throw error;
    }
  }

  async #whyRefused(): Promise<CommitResult> {
    const { rows } = await this.#limited(
      this.#client.query("/* cyclone:ask_token */ select current_setting('cyclone.completion_tx', true) as token"),
    );
    await this.rollback();
    if (rows[0]?.token === this.#token) return "lost";
    throw new CompletionTxError(
      "The completionTx was ended behind the engine's back (a COMMIT or ROLLBACK inside a text of several statements?): the step is not completed.",
    );
  }

  async #sendCommit(): Promise<CommitResult> {
    try {
      const { command } = await this.#limited(this.#client.query("commit"));
      this.#release(false);
      return command === "COMMIT" ? "committed" : "lost";
    } catch (error) {
      const lostReply = isConnectionFailure(error) || errorCode(error) === undefined;
      this.#release(true);
      if (lostReply) return "unknown";
      throw error; // the database refused the COMMIT (a deferred constraint, a serialization failure): nothing of it is there
    }
  }

  #limited<T>(work: Promise<T>, extraMs = 0): Promise<T> {
    return within(this.#options.timeoutMs + extraMs, work);
  }

  #release(broken: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#client.removeListener("error", this.#onError);
    if (broken) destroy(this.#client);
    this.#client.release(broken);
  }
}

/** Behind a pooler a name may meet another session. */
function mayPrepare(asked: PreparedStatements, client: PoolClient, serverPid: number | undefined): boolean {
  return asked === "auto" ? leadsStraight(client, serverPid) === true : asked;
}
