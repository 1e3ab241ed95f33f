import type { Pool } from "pg";
import { type Client, defineStep, type Run } from "../../../src/index.ts";

type Order = { id: string; cents: number };

/** What it writes commits together with the step's completion. */
export const charge = defineStep("charge", async (ctx, order: Order) => {
  const tx = await ctx.completionTx();
  await tx.query("insert into charges (order_id, cents) values ($1, $2)", [order.id, order.cents]);
});

/** The order and the run that charges it commit together. */
export async function placeOrder(pool: Pool, client: Client, order: Order): Promise<Run<void>> {
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    await tx.query("insert into orders (id, cents) values ($1, $2)", [order.id, order.cents]);
    const run = await charge.enqueue(client, order, { tx, idempotencyKey: order.id });
    await tx.query("commit");
    return run;
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}
