// What cyclone-pg/orm must take, and what it mustn't: checked by `npm run types`. A database that isn't in a transaction would
// make the run at once, whatever becomes of the caller's transaction.
import type { NodePgDatabase, NodePgTransaction } from "drizzle-orm/node-postgres";
import type { PostgresJsDatabase, PostgresJsTransaction } from "drizzle-orm/postgres-js";
import type { Knex } from "knex";
import type { ControlledTransaction, Kysely, Transaction } from "kysely";
import type { Client as PgClient, PoolClient } from "pg";
import type { Sql, TransactionSql } from "postgres";
import type { EntityManager, QueryRunner } from "typeorm";
import type { CompletionTx, Queryable, StartOptions } from "../../src/index.ts";
import { drizzleTx, knexTx, kyselyTx, postgresJsTx, prismaTx, typeormTx } from "../../src/orm.ts";
import type { Prisma, PrismaClient } from "../orm/prisma/generated/client.ts";

type Schema = { orders: { id: string } };
type Relations = { orders: never };

interface Given {
  readonly pg: PgClient;
  readonly poolClient: PoolClient;
  readonly completionTx: CompletionTx;
  readonly rowsOnly: { query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> };
  readonly drizzle: NodePgTransaction<Record<string, never>, Record<string, never>>;
  readonly drizzleOfSchema: NodePgTransaction<Relations, never>;
  readonly drizzleOfPostgresJs: PostgresJsTransaction<Record<string, never>, Record<string, never>>;
  readonly kysely: Transaction<Schema>;
  readonly kyselyControlled: ControlledTransaction<Schema, ["a"]>;
  readonly knex: Knex.Transaction;
  readonly knexOfRows: Knex.Transaction<Schema["orders"], Schema["orders"][]>;
  readonly prisma: Prisma.TransactionClient;
  readonly typeorm: EntityManager;
  readonly typeormRunner: QueryRunner;
  readonly postgresJs: TransactionSql<{ bigint: bigint }>;
}

export function options(given: Given): StartOptions[] {
  const transactions: Queryable[] = [
    given.pg,
    given.poolClient,
    given.completionTx,
    given.rowsOnly,
    drizzleTx(given.drizzle),
    drizzleTx(given.drizzleOfSchema),
    drizzleTx(given.drizzleOfPostgresJs),
    kyselyTx(given.kysely),
    kyselyTx(given.kyselyControlled),
    knexTx(given.knex),
    knexTx(given.knexOfRows),
    prismaTx(given.prisma),
    typeormTx(given.typeorm),
    typeormTx(given.typeormRunner.manager),
    postgresJsTx(given.postgresJs),
  ];
  return transactions.map((tx) => ({ tx }));
}

interface Refused {
  readonly drizzle: NodePgDatabase;
  readonly drizzleOfPostgresJs: PostgresJsDatabase;
  readonly kysely: Kysely<Schema>;
  readonly knex: Knex;
  readonly prisma: PrismaClient;
  readonly postgresJs: Sql;
}

export function refused(given: Refused): void {
  // @ts-expect-error not in a transaction
  drizzleTx(given.drizzle);
  // @ts-expect-error not in a transaction
  drizzleTx(given.drizzleOfPostgresJs);
  // @ts-expect-error not in a transaction
  kyselyTx(given.kysely);
  // @ts-expect-error not in a transaction
  knexTx(given.knex);
  // @ts-expect-error not in a transaction
  prismaTx(given.prisma);
  // @ts-expect-error not in a transaction
  postgresJsTx(given.postgresJs);
}
