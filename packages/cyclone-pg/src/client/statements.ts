import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { connectionErrorOf } from "../db/connection-error-of.ts";
import { isTransient } from "../db/database-errors.ts";
import { execute, limited } from "../db/execute.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { ClientStoppedError } from "../errors/client-stopped-error.ts";
import type { Statement } from "../sql/statement.ts";
import type { Tables } from "../sql/tables.ts";

const TRIES = 4;
const RETRY_MIN_MS = 50;

/** A lent connection that breaks says so at its next query; without a listener the event would end the process. */
const ignored = (): void => undefined;

const STATEMENT_LIMIT_MS = 15_000;

/** A client's own statements: submits and reads, on borrowed connections. */
export class Statements {
  readonly #pool: Pool;
  readonly #tables: Tables;
  #closed = false;

  constructor(pool: Pool, tables: Tables) {
    this.#pool = pool;
    this.#tables = tables;
  }

  /** Runs one statement, once. Its errors are the driver's. */
  readonly once: RunStatement = async (statement, params) => {
    this.#refuseWhenClosed();
    return execute(limited(this.#pool, STATEMENT_LIMIT_MS), this.#tables, statement, params);
  };

  /** What comes later is refused at once, also a further try of what had begun: a Pool that ends may keep it waiting for a connection. */
  close(): void {
    this.#closed = true;
  }

  /** Runs one statement; one that only reads, or can be repeated without harm, is tried again after a transient failure. */
  readonly run: RunStatement = (statement, params) =>
    this.retrying((attempt) => this.attempt(attempt, statement, params));

  /** Again in READ COMMITTED: under a stricter default of the database's a conflict may be met again and again. */
  attempt<Params, Row>(attempt: number, statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return attempt === 1 ? this.once(statement, params) : this.transaction((run) => run(statement, params));
  }

  /** As {@link run}, with the driver's errors: for those who decide by them whether to go on. */
  readonly runPlainly: RunStatement = (statement, params) =>
    this.#retrying((attempt) => this.attempt(attempt, statement, params));

  /** Runs several statements in one transaction of ours. */
  async transaction<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    this.#refuseWhenClosed();
    const client = await this.#pool.connect();
    client.on("error", ignored);
    let failure: unknown;
    try {
      await endingSoon(client, "begin isolation level read committed read write");
      const result = await work((statement, params) =>
        execute(limited(client, STATEMENT_LIMIT_MS), this.#tables, statement, params),
      );
      await endingSoon(client, "commit");
      return result;
    } catch (error) {
      failure = error;
      await this.#rollBack(client);
      throw error;
    } finally {
      client.removeListener("error", ignored);
      client.release(failure instanceof Error && isTransient(failure) ? failure : undefined);
    }
  }

  /**
   * Tries again after transient failures, a few times within a second or so: what lasts longer is the caller's to know.
   * @throws ConnectionError (`CYCLONE_CONNECTION`) if there is no usable connection
   */
  retrying<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    return this.told(this.#retrying(work));
  }

  /** Makes the driver's errors those that users are told, at the end of a call. */
  async told<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw connectionErrorOf(error, this.#pool.options);
    }
  }

  async #retrying<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(attempt);
      } catch (error) {
        if (attempt >= TRIES || !isTransient(error)) throw error;
        await delay(RETRY_MIN_MS * 2 ** attempt * (0.5 + Math.random()));
      }
    }
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new ClientStoppedError();
  }

  async #rollBack(client: PoolClient): Promise<void> {
    await endingSoon(client, "rollback").catch(() => undefined); // the connection is gone: the server rolls back by itself
  }
}

/** A command of our transaction, with the limit that its statements have: a half-open connection never answers. */
async function endingSoon(client: PoolClient, text: string): Promise<void> {
  await limited(client, STATEMENT_LIMIT_MS).query({ text, values: [] });
}
