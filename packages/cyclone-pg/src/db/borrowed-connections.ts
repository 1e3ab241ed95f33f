import type { PoolClient, PoolConfig } from "pg";
import pg from "pg";
import { ConnectionError } from "../errors/connection-error.ts";
import { isConnectionFailure } from "./database-errors.ts";

export interface BorrowedConnectionsOptions {
  readonly config: PoolConfig;
  readonly applicationName: string;
  readonly max: number;
  /** How long a borrower waits in line. */
  readonly acquireTimeoutMs: number;
  /** What they are for, for messages: "completionTx". */
  readonly purpose: string;
}

/** A small pool of connections that are lent in the order of asking. */
export class BorrowedConnections {
  readonly #options: BorrowedConnectionsOptions;
  readonly #pool: pg.Pool;

  constructor(options: BorrowedConnectionsOptions) {
    this.#options = options;
    this.#pool = new pg.Pool({
      application_name: options.applicationName,
      keepAlive: true,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
      ...options.config,
      max: options.max,
      min: 0,
      connectionTimeoutMillis: options.acquireTimeoutMs,
    });
    this.#pool.on("error", () => undefined); // an idle connection broke: the pool has dropped it
    this.#pool.on("connect", (client) => client.on("error", () => undefined)); // a lent one broke: its user sees it at the next query
  }

  get pool(): pg.Pool {
    return this.#pool;
  }

  /** @throws ConnectionError (`CYCLONE_CONNECTION`) if none is to be had in time */
  async acquire(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("timeout exceeded")) {
        throw new ConnectionError(
          `No connection for ${this.#options.purpose} was free within ${this.#options.acquireTimeoutMs} ms (there are ${this.#options.max}): raise \`maxConnections\`, or hold them for a shorter time.`,
          { cause: error },
        );
      }
      if (!(error instanceof Error) || !isConnectionFailure(error)) throw error;
      throw new ConnectionError(`No connection for ${this.#options.purpose} could be made: ${error.message}`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
