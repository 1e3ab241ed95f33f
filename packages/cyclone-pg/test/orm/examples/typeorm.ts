import { type DataSource, type EntityManager, EntitySchema } from "typeorm";
import { type Client, type CompletionTx, defineStep, type Run } from "../../../src/index.ts";
import { typeormTx } from "../../../src/orm.ts";

type Order = { id: string; cents: number };
export const orders = new EntitySchema<Order>({
  name: "orders",
  columns: { id: { type: "text", primary: true }, cents: { type: "int" } },
});
export const charges = new EntitySchema<{ order_id: string; cents: number }>({
  name: "charges",
  columns: { order_id: { type: "text", primary: true }, cents: { type: "int" } },
});

/** A manager over one client: a query runner that has its connection already takes none of the pool's. */
function managerOf(dataSource: DataSource, tx: CompletionTx): EntityManager {
  return Object.assign(dataSource.createQueryRunner(), { databaseConnection: tx }).manager;
}

/** What it writes commits together with the step's completion. */
export const chargeWith = (dataSource: DataSource) =>
  defineStep("charge", async (ctx, order: Order) => {
    const manager = managerOf(dataSource, await ctx.completionTx());
    await manager.insert(charges, { order_id: order.id, cents: order.cents });
  });

/** The order and the run that charges it commit together. */
export function placeOrder(dataSource: DataSource, client: Client, order: Order): Promise<Run<void>> {
  return dataSource.transaction(async (manager) => {
    await manager.insert(orders, order);
    return chargeWith(dataSource).enqueue(client, order, { tx: typeormTx(manager), idempotencyKey: order.id });
  });
}
