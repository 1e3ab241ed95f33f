import { sql } from "drizzle-orm";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drizzleTx } from "../../src/orm.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let connection: Sql;
let db: PostgresJsDatabase;
// Without `fetch_types` postgres.js knows no arrays: people turn it off behind poolers.
beforeAll(() => {
  connection = postgres(database.url, { max: 2, fetch_types: false });
  db = drizzle(connection);
});
afterAll(() => connection.end());

type Transaction = Parameters<Parameters<PostgresJsDatabase["transaction"]>[0]>[0];

function opened(tx: Transaction): OpenTransaction {
  return {
    tx: drizzleTx(tx),
    insertOrder: (id) => tx.execute(sql`insert into orders values (${id}, 1)`),
    run: (text) => tx.execute(text),
    nested: (work) => tx.transaction((within) => work(opened(within))),
  };
}

describe("a submit in a Drizzle transaction over postgres.js", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolationLevel) =>
      db.transaction((tx) => work(opened(tx)), isolationLevel && { isolationLevel }),
    error: (code) => ({ cause: { code } }),
  }));

  it("is refused where there is no transaction", () => {
    expect(() => drizzleTx(db as never)).toThrow("takes an open transaction");
  });
});
