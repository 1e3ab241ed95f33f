import { Kysely, PostgresDialect } from "kysely";
import { type Client, type CompletionTx, defineStep, type Run } from "../../../src/index.ts";
import { kyselyTx } from "../../../src/orm.ts";

type Order = { id: string; cents: number };
export interface Database {
  orders: Order;
  charges: { order_id: string; cents: number };
}

/** Kysely over one client; there is nothing to destroy afterwards. */
function kyselyOf(tx: CompletionTx): Kysely<Database> {
  return new Kysely({ dialect: new PostgresDialect({ pool: { connect: async () => tx, end: async () => {} } }) });
}

/** What it writes commits together with the step's completion. */
export const charge = defineStep("charge", async (ctx, order: Order) => {
  const db = kyselyOf(await ctx.completionTx());
  await db.insertInto("charges").values({ order_id: order.id, cents: order.cents }).execute();
});

/** The order and the run that charges it commit together. */
export function placeOrder(db: Kysely<Database>, client: Client, order: Order): Promise<Run<void>> {
  return db.transaction().execute(async (tx) => {
    await tx.insertInto("orders").values(order).execute();
    return charge.enqueue(client, order, { tx: kyselyTx(tx), idempotencyKey: order.id });
  });
}
