import type { PoolClient } from "pg";
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
    const result = this.#tail.then(() => {
      const refusal = this.#options.refusal();
      if (refusal !== undefined) throw refusal;
      const [first, ...rest] = args;
      if (typeof first === "string") return this.#connection.query(this.#mapped(first), ...(rest as []));
      const config = first as { text: string };
      return this.#connection.query({ ...config, text: this.#mapped(config.text) }, ...(rest as []));
    });
    this.#tail = result.catch(this.#options.onFailure);
    return result;
  }

  /** The text that is sent instead of one that would begin or end a transaction. */
  #mapped(text: string): string {
    const command = transactionCommand(text);
    switch (command.kind) {
      case "other":
        return text;
      case "refused":
        throw new CompletionTxError(
          `${command.command} isn't possible inside a completionTx: send BEGIN, COMMIT and ROLLBACK as single statements.`,
        );
      case "begin":
        this.#depth += 1;
        return `savepoint cyclone_${this.#depth}`;
    }
    if (this.#depth === 0) {
      throw new CompletionTxError(
        `A completionTx can't be ended by ${command.kind.toUpperCase()}: it commits when the handler returns, and rolls back when it throws.`,
      );
    }
    const name = `cyclone_${this.#depth}`;
    this.#depth -= 1;
    return command.kind === "commit"
      ? `release savepoint ${name}`
      : `rollback to savepoint ${name}; release savepoint ${name}`;
  }
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
