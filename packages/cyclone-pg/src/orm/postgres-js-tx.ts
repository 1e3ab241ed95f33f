import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";
import { textValues } from "./text-values.ts";

/** What `sql.begin` and `sql.savepoint` of postgres.js pass. */
export interface PostgresJsTransaction {
  typed(value: never, oid: number): unknown;
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[]>;
  /** A transaction has it, `sql` itself hasn't. */
  savepoint(name: string, work: never): PromiseLike<unknown>;
}

const TEXT_OID = 25;

/**
 * A transaction of postgres.js for the option `tx`. The database's errors come as they are.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it is no open transaction
 */
export function postgresJsTx(tx: PostgresJsTransaction): Queryable {
  if (typeof tx.savepoint !== "function") throw notATransaction("postgresJsTx", "what sql.begin() passes");
  return {
    async query(text, values = []) {
      // Declared as text: otherwise it asks the server for the types, and encodes for JSON what is JSON already.
      const parameters = textValues(values).map((value) => tx.typed(value as never, TEXT_OID));
      return { rows: [...(await tx.unsafe(text, parameters as never[]))] };
    },
  };
}
