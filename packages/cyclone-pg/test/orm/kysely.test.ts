import { type ControlledTransaction, Kysely, PostgresDialect, sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { kyselyTx } from "../../src/orm.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { charge, type Database, placeOrder } from "./examples/kysely.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let db: Kysely<Database>;
beforeAll(() => {
  db = new Kysely({ dialect: new PostgresDialect({ pool: database.pool }) });
});

const insertOrder = (on: Kysely<Database>, id: string) => on.insertInto("orders").values({ id, cents: 1 }).execute();

/** Kysely's nested transactions are the savepoints of its controlled ones. */
function opened(tx: ControlledTransaction<Database>, depth = 1): OpenTransaction {
  return {
    tx: kyselyTx(tx),
    insertOrder: (id) => insertOrder(tx, id),
    run: (text) => sql.raw(text).execute(tx),
    nested: async (work) => {
      const within = await tx.savepoint(`s${depth}`).execute();
      try {
        const result = await work(opened(within, depth + 1));
        await within.releaseSavepoint(`s${depth}` as never).execute();
        return result;
      } catch (error) {
        await within.rollbackToSavepoint(`s${depth}` as never).execute();
        throw error;
      }
    },
  };
}

async function controlled<T>(
  on: Kysely<Database>,
  work: (open: OpenTransaction) => Promise<T>,
  isolation?: "repeatable read",
): Promise<T> {
  const start = on.startTransaction();
  const tx = await (isolation === undefined ? start : start.setIsolationLevel(isolation)).execute();
  try {
    const result = await work(opened(tx));
    await tx.commit().execute();
    return result;
  } catch (error) {
    if (!tx.isCommitted) await tx.rollback().execute();
    throw error;
  }
}

describe("a submit in a Kysely transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolation) => controlled(db, work, isolation),
    error: (code) => ({ code }),
  }));

  it("is refused once the transaction has ended, or where there is none", async () => {
    const client = testClient(database);
    const late = defineStep("late", async () => {});
    const tx = await db.startTransaction().execute();
    await tx.commit().execute();
    await expect(late.enqueue(client, undefined, { tx: kyselyTx(tx) })).rejects.toThrow("already committed");
    expect(() => kyselyTx(db as never)).toThrow("takes an open transaction");
  });
});

describe("a completionTx that Kysely is bound to", () => {
  describeCompletionTx(database, orders, (tx) => {
    const pool = { connect: async () => tx, end: async () => {} };
    const bound = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
    return {
      insertOrder: (id) => insertOrder(bound, id),
      run: (text) => sql.raw(text).execute(bound),
      transaction: (work) => controlled(bound, work),
    };
  });
});

describe("the page's lines for Kysely", () => {
  describeExample(
    database,
    () => charge,
    (client, order) => placeOrder(db, client, order),
  );
});
