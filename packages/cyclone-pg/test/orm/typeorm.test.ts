import { DataSource, type EntityManager } from "typeorm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { typeormTx } from "../../src/orm.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { charges, chargeWith, orders as orderSchema, placeOrder } from "./examples/typeorm.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let dataSource: DataSource;
beforeAll(async () => {
  dataSource = new DataSource({ type: "postgres", url: database.url, entities: [orderSchema, charges] });
  await dataSource.initialize();
});
afterAll(() => dataSource.destroy());

function opened(manager: EntityManager): OpenTransaction {
  return {
    tx: typeormTx(manager),
    insertOrder: (id) => manager.insert(orderSchema, { id, cents: 1 }),
    run: (text) => manager.query(text),
    nested: (work) => manager.transaction((within) => work(opened(within))),
  };
}

describe("a submit in a TypeORM transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolation) =>
      isolation === undefined
        ? dataSource.transaction((manager) => work(opened(manager)))
        : dataSource.transaction("REPEATABLE READ", (manager) => work(opened(manager))),
    error: (code) => ({ code, driverError: { code } }),
  }));

  it("is refused where the manager is in no transaction, or no longer", async () => {
    const client = testClient(database);
    const late = defineStep("late", async () => {});
    const ended = await dataSource.transaction(async (manager) => manager);
    for (const manager of [dataSource.manager, ended]) {
      await expect(late.enqueue(client, undefined, { tx: typeormTx(manager) })).rejects.toMatchObject({
        code: "CYCLONE_INVALID_OPTION",
      });
    }
  });
});

describe("a completionTx that TypeORM is bound to", () => {
  describeCompletionTx(database, orders, (tx) => {
    const { manager } = Object.assign(dataSource.createQueryRunner(), { databaseConnection: tx });
    return {
      insertOrder: (id) => manager.insert(orderSchema, { id, cents: 1 }),
      run: (text) => manager.query(text),
      transaction: (work) => manager.transaction((within) => work(opened(within))),
    };
  });
});

describe("the page's lines for TypeORM", () => {
  describeExample(
    database,
    () => chargeWith(dataSource),
    (client, order) => placeOrder(dataSource, client, order),
  );
});
