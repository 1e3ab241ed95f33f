import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { type Client, defineStep, type Run } from "../../../src/index.ts";
import { drizzleTx } from "../../../src/orm.ts";

type Order = { id: string; cents: number };
const orders = pgTable("orders", { id: text().primaryKey(), cents: integer().notNull() });
const charges = pgTable("charges", { orderId: text("order_id").primaryKey(), cents: integer().notNull() });

/** What it writes commits together with the step's completion. */
export const charge = defineStep("charge", async (ctx, order: Order) => {
  const db = drizzle(await ctx.completionTx());
  await db.insert(charges).values({ orderId: order.id, cents: order.cents });
});

/** The order and the run that charges it commit together. */
export function placeOrder(db: NodePgDatabase, client: Client, order: Order): Promise<Run<void>> {
  return db.transaction(async (tx) => {
    await tx.insert(orders).values(order);
    return charge.enqueue(client, order, { tx: drizzleTx(tx), idempotencyKey: order.id });
  });
}
