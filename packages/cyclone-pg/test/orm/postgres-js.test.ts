import postgres, { type Sql, type TransactionSql } from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresJsTx } from "../../src/orm.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { charge, placeOrder } from "./examples/postgres-js.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let sql: Sql;
// Without `fetch_types` postgres.js knows no arrays: people turn it off behind poolers.
beforeAll(() => {
  sql = postgres(database.url, { max: 2, fetch_types: false });
});
afterAll(() => sql.end());

function opened(tx: TransactionSql): OpenTransaction {
  return {
    tx: postgresJsTx(tx),
    insertOrder: async (id) => tx`insert into orders values (${id}, 1)`,
    run: async (text) => tx.unsafe(text),
    nested: <T>(work: (open: OpenTransaction) => Promise<T>) =>
      tx.savepoint((within) => work(opened(within))) as Promise<T>,
  };
}

describe("a submit in a postgres.js transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: <T>(work: (open: OpenTransaction) => Promise<T>, isolation?: string) =>
      sql.begin(isolation === undefined ? "" : `isolation level ${isolation}`, (tx) => work(opened(tx))) as Promise<T>,
    error: (code) => ({ code }),
  }));

  it("is refused where there is no transaction", () => {
    expect(() => postgresJsTx(sql as never)).toThrow("takes an open transaction");
  });
});

describe("the page's lines for postgres.js", () => {
  describeExample(
    database,
    () => charge,
    (client, order) => placeOrder(sql, client, order),
  );
});
