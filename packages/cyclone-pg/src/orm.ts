/**
 * The transactions of other libraries, as the option `tx` takes them.
 *
 * @module cyclone-pg/orm
 */
export { type DrizzleTransaction, drizzleTx } from "./orm/drizzle-tx.ts";
export { type KnexTransaction, knexTx } from "./orm/knex-tx.ts";
export { type KyselyTransaction, kyselyTx } from "./orm/kysely-tx.ts";
export { type PostgresJsTransaction, postgresJsTx } from "./orm/postgres-js-tx.ts";
export { type PrismaTransaction, prismaTx } from "./orm/prisma-tx.ts";
export { type TypeormManager, typeormTx } from "./orm/typeorm-tx.ts";
