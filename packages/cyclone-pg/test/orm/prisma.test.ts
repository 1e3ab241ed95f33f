import { PrismaPg } from "@prisma/adapter-pg";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { prismaTx } from "../../src/orm.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { charge, placeOrder } from "./examples/prisma.ts";
import { type Prisma, PrismaClient } from "./prisma/generated/client.ts";
import { describeCompletionTx } from "./support/describe-completion-tx.ts";
import { describeExample } from "./support/describe-example.ts";
import { describeSubmit } from "./support/describe-submit.ts";
import type { OpenTransaction } from "./support/library.ts";
import { useOrders } from "./support/order-table.ts";

const database = useTestDatabase();
const orders = useOrders(database);
let db: PrismaClient;
beforeAll(() => {
  db = new PrismaClient({ adapter: new PrismaPg(database.url) });
});
afterAll(() => db.$disconnect());

function opened(tx: Prisma.TransactionClient): OpenTransaction {
  return {
    tx: prismaTx(tx),
    insertOrder: (id) => tx.order.create({ data: { id, cents: 1 } }),
    run: (text) => tx.$queryRawUnsafe(text),
    nested: (work) => tx.$transaction((within) => work(opened(within))),
  };
}

describe("a submit in a Prisma transaction", () => {
  describeSubmit(database, orders, () => ({
    transaction: (work, isolation) =>
      db.$transaction((tx) => work(opened(tx)), {
        timeout: 60_000,
        ...(isolation && { isolationLevel: "RepeatableRead" }),
      }),
    error: (code) => ({ code: "P2010", meta: { driverAdapterError: { cause: { originalCode: code } } } }),
  }));

  it("is refused where there is no transaction, or no longer", async () => {
    expect(() => prismaTx(db as never)).toThrow("takes an open transaction");
    const client = testClient(database);
    const late = defineStep("late", async () => {});
    let ended: Prisma.TransactionClient | undefined;
    await db.$transaction(async (tx) => {
      ended = tx;
    });
    const start = late.enqueue(client, undefined, { tx: prismaTx(ended as Prisma.TransactionClient) });
    await expect(start).rejects.toMatchObject({ code: "P2028" });
  });
});

describe("a completionTx that Prisma is bound to", () => {
  describeCompletionTx(database, orders, (tx) => {
    const pool = Object.assign(new Pool(), { connect: async () => tx, query: tx.query.bind(tx) });
    const bound = new PrismaClient({ adapter: new PrismaPg(pool) });
    return {
      insertOrder: (id) => bound.order.create({ data: { id, cents: 1 } }),
      run: (text) => bound.$queryRawUnsafe(text),
      transaction: (work) => bound.$transaction((within) => work(opened(within)), { timeout: 60_000 }),
    };
  });
});

describe("the page's lines for Prisma", () => {
  describeExample(
    database,
    () => charge,
    (client, order) => placeOrder(db, client, order),
  );
});
