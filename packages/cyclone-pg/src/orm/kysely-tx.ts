import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";

/** What Kysely's `transaction().execute` passes and `startTransaction().execute` gives. */
export interface KyselyTransaction {
  /** `Kysely` itself says false. */
  readonly isTransaction: true;
  executeQuery(query: never): Promise<{ readonly rows: unknown[] }>;
}

/**
 * A Kysely transaction of its Postgres dialect for the option `tx`. The database's errors come as they are.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it is no open transaction
 */
export function kyselyTx(tx: KyselyTransaction): Queryable {
  if (!tx.isTransaction) throw notATransaction("kyselyTx", "what db.transaction().execute() passes");
  return {
    async query(text, values = []) {
      // As `CompiledQuery.raw` makes it; each has an identity of its own, by which plugins may remember it.
      const compiled = {
        sql: text,
        parameters: values,
        query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
        queryId: { queryId: "cyclone" },
      };
      const { rows } = await tx.executeQuery(compiled as never);
      return { rows };
    },
  };
}
