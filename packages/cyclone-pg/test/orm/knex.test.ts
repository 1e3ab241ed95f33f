import knex, { type Knex } from "knex";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { knexTx } from "../../src/orm.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { chargeWith, placeOrder } from "./examples/knex.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let db: Knex;
beforeAll(() => {
  db = knex({ client: "pg", connection: database.url });
});
afterAll(() => db.destroy());

function opened(trx: Knex.Transaction): OpenTransaction {
  return {
    tx: knexTx(trx),
    insertOrder: async (id) => trx("orders").insert({ id, cents: 1 }),
    run: async (text) => trx.raw(text),
    nested: (work) => trx.transaction((within) => work(opened(within))),
  };
}

describe("a submit in a Knex transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolationLevel) =>
      db.transaction((trx) => work(opened(trx)), isolationLevel && { isolationLevel }),
    error: (code) => ({ code, message: expect.not.stringContaining("insert into") }),
  }));

  it("is refused once the transaction has ended, whose connection may be somebody else's by then", async () => {
    const client = testClient(database);
    const late = defineStep("late", async () => {});
    const trx = await db.transaction();
    await trx.commit();
    const refused = { code: "CYCLONE_INVALID_OPTION" };
    await expect(late.enqueue(client, undefined, { tx: knexTx(trx) })).rejects.toMatchObject(refused);
    const noTransaction = knexTx(db as unknown as Knex.Transaction);
    await expect(late.enqueue(client, undefined, { tx: noTransaction })).rejects.toMatchObject(refused);
  });
});

describe("a completionTx that Knex is bound to", () => {
  describeCompletionTx(database, orders, (connection) => ({
    insertOrder: async (id) => db("orders").connection(connection).insert({ id, cents: 1 }),
    run: async (text) => db.raw(text).connection(connection),
    transaction: (work) => db.transaction((trx) => work(opened(trx)), { connection }),
  }));
});

describe("the page's lines for Knex", () => {
  describeExample(
    database,
    () => chargeWith(db),
    (client, order) => placeOrder(db, client, order),
  );
});
