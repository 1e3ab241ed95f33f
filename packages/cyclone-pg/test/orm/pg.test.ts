import type { ClientBase } from "pg";
import { describe } from "vitest";
import { useTestDatabase } from "../support/test-database.ts";
import { charge, placeOrder } from "./examples/pg.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);

const insertOrder = (tx: ClientBase, id: string) => tx.query("insert into orders values ($1, 1)", [id]);

function opened(tx: ClientBase, depth = 1): OpenTransaction {
  return {
    tx,
    insertOrder: (id) => insertOrder(tx, id),
    run: (text) => tx.query(text),
    nested: async (work) => {
      await tx.query(`savepoint s${depth}`);
      try {
        return await work(opened(tx, depth + 1));
      } catch (error) {
        await tx.query(`rollback to savepoint s${depth}`);
        throw error;
      }
    },
  };
}

async function transaction<T>(
  tx: ClientBase,
  work: (open: OpenTransaction) => Promise<T>,
  isolation = "read committed",
): Promise<T> {
  await tx.query(`begin isolation level ${isolation}`);
  try {
    const result = await work(opened(tx));
    await tx.query("commit");
    return result;
  } catch (error) {
    await tx.query("rollback");
    throw error;
  }
}

describe("a submit in a transaction of pg", () => {
  describeSubmit(database, orders, () => ({
    transaction: async (work, isolation) => {
      const tx = await database.pool.connect();
      return transaction(tx, work, isolation).finally(() => tx.release());
    },
    error: (code) => ({ code }),
  }));
});

describe("a completionTx, used as it is", () => {
  describeCompletionTx(database, orders, (tx) => ({
    insertOrder: (id) => insertOrder(tx, id),
    run: (text) => tx.query(text),
    transaction: (work) => transaction(tx, work),
  }));
});

describe("the page's lines for pg", () => {
  describeExample(
    database,
    () => charge,
    (client, order) => placeOrder(database.pool, client, order),
  );
});
