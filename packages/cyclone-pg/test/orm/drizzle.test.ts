import { sql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { beforeAll, describe, expect, it } from "vitest";
import { drizzleTx } from "../../src/orm.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { charge, placeOrder } from "./examples/drizzle.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let db: NodePgDatabase;
beforeAll(() => {
  db = drizzle(database.pool);
});

type Transaction = Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0];

const insertOrder = (on: NodePgDatabase | Transaction, id: string) =>
  on.execute(sql`insert into orders values (${id}, 1)`);

function opened(tx: Transaction): OpenTransaction {
  return {
    tx: drizzleTx(tx),
    insertOrder: (id) => insertOrder(tx, id),
    run: (text) => tx.execute(text),
    nested: (work) => tx.transaction((within) => work(opened(within))),
  };
}

describe("a submit in a Drizzle transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolationLevel) =>
      db.transaction((tx) => work(opened(tx)), isolationLevel && { isolationLevel }),
    error: (code) => ({ cause: { code } }),
  }));

  it("is refused where there is no transaction", () => {
    expect(() => drizzleTx(db as never)).toThrow("takes an open transaction");
  });
});

describe("a completionTx that Drizzle is bound to", () => {
  describeCompletionTx(database, orders, (tx) => {
    const bound = drizzle(tx);
    return {
      insertOrder: (id) => insertOrder(bound, id),
      run: (text) => bound.execute(text),
      transaction: (work) => bound.transaction((within) => work(opened(within))),
    };
  });
});

describe("the page's lines for Drizzle", () => {
  describeExample(
    database,
    () => charge,
    (client, order) => placeOrder(db, client, order),
  );
});
