import type pg from "pg";
import { ConnectionError } from "../errors/connection-error.ts";
import type { Statement } from "../sql/statement.ts";
import type { Tables } from "../sql/tables.ts";
import { isConnectionFailure } from "./database-errors.ts";
import { execute } from "./execute.ts";
import { within } from "./within.ts";

export interface SessionOptions {
  /** Makes an unconnected client. */
  readonly newClient: () => pg.Client;
  readonly tables: Tables;
  /** Limit of one statement, on our side: a half-open connection never answers. */
  readonly timeoutMs: number;
  /** A silence that could hide a break of the network: after a longer one {@link Session.connectedAt} begins anew. @default none */
  readonly silenceMaxMs?: number;
  /** Told of each failure to connect or lost connection. */
  readonly onFailure?: (error: unknown) => void;
}

const CLOSE_LIMIT_MS = 1_000;

/**
 * One dedicated connection that runs the engine's statements one after the other. It connects when it is first used and again
 * after a failure; a statement fails with the connection, and whoever sent it decides whether to send it again.
 */
export class Session {
  readonly #options: SessionOptions;
  #client: pg.Client | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;
  #connectedAt: number | undefined;
  #answeredAt = 0;
  /** Set where the server's default isn't READ COMMITTED: then each statement gets a transaction that says so. */
  #explicit = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * Since when, by the monotonic clock, the connection has been up without a break that could have gone unseen; `undefined` while
   * it is down. A network that was away, or a process that was stopped (SIGSTOP, a sleeping laptop), shows as a long silence.
   */
  get connectedAt(): number | undefined {
    return this.#connectedAt;
  }

  /**
   * Runs a statement in a transaction of its own.
   * @param extraMs more time for a statement that carries much data
   * @throws what the database or the driver threw, or a ConnectionError
   */
  run<Params, Row>(statement: Statement<Params, Row>, params: Params, extraMs = 0): Promise<Row[]> {
    const limitMs = this.#options.timeoutMs + extraMs;
    const next = this.#tail.then(() =>
      this.#withClient(limitMs, (client) => this.#inTransaction(client, statement, params)),
    );
    this.#tail = next.catch(() => undefined);
    return next;
  }

  /** Connects, if it isn't connected. @throws what the driver threw, or a ConnectionError */
  connect(): Promise<void> {
    const next = this.#tail.then(() => this.#withClient(this.#options.timeoutMs, async () => undefined));
    this.#tail = next.catch(() => undefined);
    return next;
  }

  /** Ends the connection; later statements fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
    const client = this.#client;
    this.#client = undefined;
    this.#connectedAt = undefined;
    if (client !== undefined) await endWithin(client, CLOSE_LIMIT_MS);
  }

  async #inTransaction<Params, Row>(
    client: pg.Client,
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    if (!this.#explicit) return execute(client, this.#options.tables, statement, params);
    await client.query("begin isolation level read committed read write");
    try {
      const rows = await execute(client, this.#options.tables, statement, params);
      await client.query("commit");
      return rows;
    } catch (error) {
      await client.query("rollback").catch(() => this.#drop());
      throw error;
    }
  }

  async #withClient<T>(limitMs: number, use: (client: pg.Client) => Promise<T>): Promise<T> {
    if (this.#closed) throw new ConnectionError("The connection has been closed.");
    try {
      const result = await within(limitMs, this.#connected().then(use));
      this.#answered();
      return result;
    } catch (error) {
      if (isConnectionFailure(error)) {
        this.#drop();
        this.#options.onFailure?.(error);
      }
      throw error;
    }
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    const client = this.#options.newClient();
    this.#client = client;
    client.on("error", () => {
      if (this.#client === client) this.#drop();
    });
    await client.connect();
    const { rows } = await client.query(
      "/* cyclone:ask_isolation */ select current_setting('default_transaction_isolation') as isolation",
    );
    this.#explicit = rows[0]?.isolation !== "read committed";
    if (this.#client !== client) throw new ConnectionError("The connection was lost while it was made.");
    this.#answeredAt = performance.now();
    this.#connectedAt = this.#answeredAt;
    return client;
  }

  #answered(): void {
    const now = performance.now();
    if (
      this.#connectedAt !== undefined &&
      now - this.#answeredAt > (this.#options.silenceMaxMs ?? Number.POSITIVE_INFINITY)
    ) {
      this.#connectedAt = now;
    }
    this.#answeredAt = now;
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#connectedAt = undefined;
    if (client === undefined) return;
    destroy(client);
  }
}

/** Ends a connection politely, or at once if that takes longer than `limitMs`. */
export async function endWithin(client: pg.ClientBase & { end(): Promise<void> }, limitMs: number): Promise<void> {
  const limit = setTimeout(() => destroy(client), limitMs);
  await client.end().catch(() => undefined);
  clearTimeout(limit);
}

/** Ends a connection at once, also one that doesn't answer. */
export function destroy(client: pg.ClientBase): void {
  // `end()` waits for an answer of the server; the socket itself is only reachable through the driver's connection.
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } };
  connection?.stream?.destroy();
}
