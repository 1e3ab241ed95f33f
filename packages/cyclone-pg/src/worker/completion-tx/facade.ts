import type { PoolClient, QueryConfig } from "pg";
import { errorCode } from "../../db/database-errors.ts";
import { CompletionTxError } from "../../errors/completion-tx-error.ts";
import { transactionCommand } from "./transaction-command.ts";

export interface FacadeOptions {
  /** Why queries are refused, once they are: the handler has settled, the lease is lost. */
  readonly refusal: () => unknown;
  /** Told of each query that failed. */
  readonly onFailure: (error: unknown) => void;
}

type Callback = (error: unknown, result?: unknown) => void;

/**
 * What stands between a handler and the connection of its completionTx, so that the handler can't end the transaction. BEGIN, COMMIT and
 * ROLLBACK act on a savepoint, as ORMs' own transactions need it; `release()`, `end()` and `connect()` do nothing. Queries run one
 * after the other.
 */
export class CompletionTxFacade {
  readonly #connection: PoolClient;
  readonly #options: FacadeOptions;
  /** Savepoints that stand for the handler's own transactions. */
  #depth = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  /** What the handler gets: a `pg` client, as far as anybody can tell. */
  readonly client: PoolClient;

  constructor(connection: PoolClient, options: FacadeOptions) {
    this.#connection = connection;
    this.#options = options;
    const nothing = async (): Promise<void> => {};
    const replaced = new Map<PropertyKey, unknown>([
      ["query", (...args: unknown[]) => this.#query(args)],
      ["release", () => undefined],
      ["end", nothing],
      ["connect", nothing],
    ]);
    this.client = new Proxy(connection, {
      get(target, property) {
        if (replaced.has(property)) return replaced.get(property);
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Resolves when no query is under way; never rejects. */
  settled(): Promise<unknown> {
    return this.#tail;
  }

  /** Why the last statement failed, if nothing has succeeded since then but undoing it: what a handler throws may not show it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** `query` in all its forms: text or configuration, with or without a callback, cursors and streams. */
  #query(args: unknown[]): unknown {
    const [first] = args;
    if (isSubmittable(first)) {
      const refusal = this.#options.refusal();
      if (refusal !== undefined) throw refusal;
      return this.#connection.query(first as never);
    }
    const callback = takeCallback(args);
    const result = this.#run(args);
    if (callback === undefined) return result;
    result.then(
      (value) => callback(null, value),
      (error: unknown) => callback(error),
    );
    return undefined;
  }

  #run(args: unknown[]): Promise<unknown> {
    const [first, ...rest] = args;
    const text = typeof first === "string" ? first : (first as { text: string }).text;
    const send: Send = (sent) => {
      if (typeof first === "string") return this.#connection.query(sent, ...(rest as []));
      // A name stands for one text only: what is sent instead of BEGIN differs by depth.
      const name = sent === text ? (first as { name?: string }).name : undefined;
      return this.#connection.query({ ...(first as object), name, text: sent } as QueryConfig, ...(rest as []));
    };
    const result = this.#tail.then(() => {
      const refusal = this.#options.refusal();
      if (refusal !== undefined) throw refusal;
      return this.#send(text, send);
    });
    this.#tail = result.then(
      () => {
        if (!ENDING.test(text)) this.#failure = undefined;
      },
      (error: unknown) => {
        // What comes after a failed statement fails as well, and says nothing.
        if (errorCode(error) !== "25P02") this.#failure = error;
        this.#options.onFailure(error);
      },
    );
    return result;
  }

  /** Sends a text, or what does to a savepoint the same as it would do to a transaction. */
  async #send(text: string, send: Send): Promise<unknown> {
    const command = transactionCommand(text);
    switch (command.kind) {
      case "other":
        return send(text);
      case "refused":
        throw new CompletionTxError(
          `${command.command} isn't possible inside a completionTx: send BEGIN, COMMIT and ROLLBACK as single statements.`,
        );
      case "begin": {
        const begun = await send(`savepoint cyclone_${this.#depth + 1}`);
        this.#depth += 1;
        return begun;
      }
    }
    if (this.#depth === 0) {
      throw new CompletionTxError(
        `A completionTx can't be ended by ${command.kind.toUpperCase()}: it commits when the handler returns, and rolls back when it throws.`,
      );
    }
    const name = `cyclone_${this.#depth}`;
    const ended = await (command.kind === "commit" ? commit(name, send) : rollBack(name, send));
    this.#depth -= 1;
    return ended;
  }
}

/** What ends a transaction or a savepoint, or goes back to one. */
const ENDING = /^\s*(commit|end|rollback|abort|release)\b/i;

type Send = (text: string) => Promise<unknown>;

/** As COMMIT does: after a failed statement it undoes the transaction, and says so by its command tag only. */
async function commit(name: string, send: Send): Promise<unknown> {
  try {
    return await send(`release savepoint ${name}`);
  } catch (error) {
    if (errorCode(error) !== "25P02") throw error;
    return rollBack(name, send);
  }
}

async function rollBack(name: string, send: Send): Promise<unknown> {
  const result = await send(`rollback to savepoint ${name}`);
  await send(`release savepoint ${name}`);
  return result;
}

/** Cursors and streams of `pg` bring their own protocol handling. */
function isSubmittable(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { submit?: unknown }).submit === "function";
}

function takeCallback(args: unknown[]): Callback | undefined {
  const last = args.at(-1);
  if (typeof last === "function") {
    args.pop();
    return last as Callback;
  }
  const [first] = args;
  if (typeof first !== "object" || first === null) return undefined;
  const { callback, ...config } = first as { callback?: Callback };
  if (typeof callback !== "function") return undefined;
  args[0] = config;
  return callback;
}
