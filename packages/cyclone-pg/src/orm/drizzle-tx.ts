import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";
import { textValues } from "./text-values.ts";

/** What Drizzle's `db.transaction` passes, with its node-postgres or its postgres.js driver. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
  /** A transaction has it, the database hasn't. */
  rollback(): never;
}

/**
 * A Drizzle transaction for the option `tx`. It goes through `execute`, so its logger sees the statements, and errors come as
 * Drizzle has them: the database's is the `cause`.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it is no open transaction
 */
export function drizzleTx(tx: DrizzleTransaction): Queryable {
  if (typeof tx.rollback !== "function") throw notATransaction("drizzleTx", "what db.transaction() passes");
  return {
    async query(text, values = []) {
      // All that Drizzle asks of a query: its own `sql` numbers parameters itself, and ours are numbered.
      const query = { getSQL: () => ({ toQuery: () => ({ sql: text, params: textValues(values) }) }) };
      const result = await tx.execute(query as never);
      // A list of rows comes from postgres.js, a result with rows from node-postgres.
      return { rows: Array.isArray(result) ? result : (result as { rows: unknown[] }).rows };
    },
  };
}
