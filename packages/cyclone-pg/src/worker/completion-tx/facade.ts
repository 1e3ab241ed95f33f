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
 * The client that a handler gets: a `pg` client whose transaction it can't end. BEGIN, COMMIT and ROLLBACK act on a savepoint, as
 * ORMs' own transactions need it; `release()`, `end()` and `connect()` do nothing. Queries run one after the other.
 */
export function completionTxFacade(
  client: PoolClient,
  options: FacadeOptions,
): { facade: PoolClient; settled: () => Promise<unknown> } {
  let depth = 0;
  let tail: Promise<unknown> = Promise.resolve();

  const mapped = (text: string): string => {
    const command = transactionCommand(text);
    switch (command.kind) {
      case "other":
        return text;
      case "refused":
        throw new CompletionTxError(
          `${command.command} isn't possible inside a completionTx: send BEGIN, COMMIT and ROLLBACK as single statements.`,
        );
      case "begin":
        depth += 1;
        return `savepoint cyclone_${depth}`;
    }
    if (depth === 0) {
      throw new CompletionTxError(
        `A completionTx can't be ended by ${command.kind.toUpperCase()}: it commits when the handler returns, and rolls back when it throws.`,
      );
    }
    const name = `cyclone_${depth}`;
    depth -= 1;
    return command.kind === "commit"
      ? `release savepoint ${name}`
      : `rollback to savepoint ${name}; release savepoint ${name}`;
  };

  const run = (args: unknown[]): Promise<unknown> => {
    const result = tail.then(() => {
      const refusal = options.refusal();
      if (refusal !== undefined) throw refusal;
      const [first, ...rest] = args;
      if (typeof first === "string") return client.query(mapped(first), ...(rest as []));
      const config = first as { text: string };
      return client.query({ ...config, text: mapped(config.text) }, ...(rest as []));
    });
    tail = result.catch(options.onFailure);
    return result;
  };

  const query = (...args: unknown[]): unknown => {
    const refusal = options.refusal();
    const [first] = args;
    if (isSubmittable(first)) {
      if (refusal !== undefined) throw refusal;
      return client.query(first as never);
    }
    const callback = takeCallback(args);
    const result = run(args);
    if (callback === undefined) return result;
    result.then(
      (value) => callback(null, value),
      (error: unknown) => callback(error),
    );
    return undefined;
  };

  const nothing = async (): Promise<void> => {};
  const replaced: Record<string, unknown> = { query, release: () => undefined, end: nothing, connect: nothing };
  const facade = new Proxy(client, {
    get(target, property) {
      if (typeof property === "string" && property in replaced) return replaced[property];
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { facade, settled: () => tail };
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
