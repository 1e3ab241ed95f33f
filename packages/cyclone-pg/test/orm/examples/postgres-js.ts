import type { Sql } from "postgres";
import { type Client, defineStep, type Run } from "../../../src/index.ts";
import { postgresJsTx } from "../../../src/orm.ts";

type Order = { id: string; cents: number };

/** A completionTx is a client of `pg`: it is used as it is. */
export const charge = defineStep("charge", async (ctx, order: Order) => {
  const tx = await ctx.completionTx();
  await tx.query("insert into charges (order_id, cents) values ($1, $2)", [order.id, order.cents]);
});

/** The order and the run that charges it commit together. */
export async function placeOrder(sql: Sql, client: Client, order: Order): Promise<Run<void>> {
  return sql.begin(async (tx) => {
    await tx`insert into orders (id, cents) values (${order.id}, ${order.cents})`;
    return charge.enqueue(client, order, { tx: postgresJsTx(tx), idempotencyKey: order.id });
  });
}
