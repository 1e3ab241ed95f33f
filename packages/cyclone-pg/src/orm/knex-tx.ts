import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";

/** What Knex's `knex.transaction` passes or gives. */
export interface KnexTransaction {
  readonly client: { acquireConnection(): Promise<Queryable> };
  isCompleted(): boolean;
}

/**
 * A Knex transaction of its `pg` client for the option `tx`. It uses the transaction's own connection: Knex would read each
 * `?` as a parameter, and put the statement with all values in front of the error's message.
 * Its queries throw InvalidOptionError (`CYCLONE_INVALID_OPTION`) where it is no open transaction.
 */
export function knexTx(trx: KnexTransaction): Queryable {
  return {
    async query(text, values = []) {
      // Knex gives the connection back when the transaction ends: then it is somebody else's.
      if (typeof trx.isCompleted !== "function" || trx.isCompleted())
        throw notATransaction("knexTx", "what knex.transaction() passes, until it is committed or rolled back");
      const connection = await trx.client.acquireConnection();
      return connection.query(text, values);
    },
  };
}
