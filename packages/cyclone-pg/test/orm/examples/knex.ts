import type { Knex } from "knex";
import { type Client, defineStep, type Run } from "../../../src/index.ts";
import { knexTx } from "../../../src/orm.ts";

type Order = { id: string; cents: number };

/** What it writes commits together with the step's completion. `db` is the application's Knex: its pool isn't used here. */
export const chargeWith = (db: Knex) =>
  defineStep("charge", async (ctx, order: Order) => {
    const connection = await ctx.completionTx();
    await db.transaction(
      async (trx) => {
        await trx("charges").insert({ order_id: order.id, cents: order.cents });
      },
      { connection },
    );
  });

/** The order and the run that charges it commit together. */
export function placeOrder(db: Knex, client: Client, order: Order): Promise<Run<void>> {
  return db.transaction(async (trx) => {
    await trx("orders").insert(order);
    return chargeWith(db).enqueue(client, order, { tx: knexTx(trx), idempotencyKey: order.id });
  });
}
