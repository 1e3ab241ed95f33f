import type { Queryable } from "../builder/start-options.ts";
import { notATransaction } from "./not-a-transaction.ts";
import { textValues } from "./text-values.ts";

/** What Prisma's `prisma.$transaction(async (tx) => …)` passes. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>;
  /** The client itself has it, a transaction hasn't. */
  readonly $connect?: undefined;
}

/**
 * A Prisma transaction for the option `tx`. Errors come as Prisma has them.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it is no open transaction
 */
export function prismaTx(tx: PrismaTransaction): Queryable {
  if (tx.$connect !== undefined) throw notATransaction("prismaTx", "what prisma.$transaction(async (tx) => …) passes");
  return {
    async query(text, values = []) {
      const rows = await tx.$queryRawUnsafe(text, ...(textValues(values) as never[]));
      return { rows: rows as unknown[] };
    },
  };
}
