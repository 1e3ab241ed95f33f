import { PrismaPg } from "@prisma/adapter-pg";
import { Pool } from "pg";
import { type Client, type CompletionTx, defineStep, type Run } from "../../../src/index.ts";
import { prismaTx } from "../../../src/orm.ts";
import { PrismaClient } from "../prisma/generated/client.ts";

type Order = { id: string; cents: number };

/** Prisma over one client. It takes nothing but a Pool: this one opens no connection. */
function prismaOf(tx: CompletionTx): PrismaClient {
  const pool = Object.assign(new Pool(), { connect: async () => tx, query: tx.query.bind(tx) });
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}

/** What it writes commits together with the step's completion. */
export const charge = defineStep("charge", async (ctx, order: Order) => {
  const db = prismaOf(await ctx.completionTx());
  await db.charge.create({ data: { orderId: order.id, cents: order.cents } });
});

/** The order and the run that charges it commit together. */
export function placeOrder(db: PrismaClient, client: Client, order: Order): Promise<Run<void>> {
  return db.$transaction(async (tx) => {
    await tx.order.create({ data: order });
    return charge.enqueue(client, order, { tx: prismaTx(tx), idempotencyKey: order.id });
  });
}
