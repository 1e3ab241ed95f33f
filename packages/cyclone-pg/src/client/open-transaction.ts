import type { Queryable } from "../builder/start-options.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** What a client of `pg` knows of its connection: the server tells with each answer whether a transaction is open. */
interface DriverClient {
  /** "I": none is; "T": one is; "E": one that has failed; `null`: not known. Older drivers don't have it. */
  readonly getTransactionStatus?: () => unknown;
  readonly readyForQuery?: unknown;
  readonly _activeQuery?: unknown;
  readonly _queryQueue?: unknown;
  readonly _sentQueryQueue?: unknown;
}

/**
 * A client of `pg` without an open transaction would commit each statement by itself. It is asked just before a statement is sent to it, and
 * costs no round trip. What can't be known is accepted: an ORM's wrapper, a client whose BEGIN is still under way.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function refuseWithoutTransaction(tx: Queryable): void {
  if (!isDriverClient(tx) || isBusy(tx) || tx.getTransactionStatus?.() !== "I") return;
  throw new InvalidOptionError(
    "tx",
    "tx is a client without an open transaction, which would commit each statement by itself: send BEGIN first, pass the client before its COMMIT, or leave tx out",
  );
}

/** Not what stands before a client and has a `query` of its own, as a completionTx has: that one knows better. */
function isDriverClient(tx: Queryable): tx is Queryable & DriverClient {
  const driver = Object.getPrototypeOf(tx) as Partial<Queryable> | null;
  return driver?.query === tx.query && typeof (tx as DriverClient).getTransactionStatus === "function";
}

/** Whether a statement is queued or under way, which may be the BEGIN. */
function isBusy({ readyForQuery, _activeQuery, _queryQueue, _sentQueryQueue }: DriverClient): boolean {
  if (readyForQuery === false || (_activeQuery ?? undefined) !== undefined) return true;
  return [_queryQueue, _sentQueryQueue].some((queue) => Array.isArray(queue) && queue.length > 0);
}
