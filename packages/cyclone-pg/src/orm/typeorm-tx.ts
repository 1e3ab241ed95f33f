import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";

/** What TypeORM's `dataSource.transaction` passes, or the `manager` of a query runner. */
export interface TypeormManager {
  readonly queryRunner?:
    | {
        readonly isTransactionActive: boolean;
        query(text: string, values: unknown[], structured: true): Promise<{ readonly records: unknown[] }>;
      }
    | undefined;
}

/**
 * An entity manager inside a transaction for the option `tx`. Errors come as TypeORM has them: with the database's `code`.
 * Its queries throw InvalidOptionError (`CYCLONE_INVALID_OPTION`) where it is no open transaction.
 */
export function typeormTx(manager: TypeormManager): Queryable {
  return {
    async query(text, values = []) {
      // A manager without a runner takes any connection of the pool, outside of every transaction.
      if (manager.queryRunner?.isTransactionActive !== true)
        throw notATransaction("typeormTx", "the manager that dataSource.transaction() passes");
      const { records } = await manager.queryRunner.query(text, values, true);
      return { rows: records };
    },
  };
}
