import { startEmbeddedPostgres } from "cyclone-embedded";
import { createClient, defineAction, defineStep, defineWorkflow } from "cyclone-pg";
import { createTestDatabase, createTestTemplate, dropTestTemplate } from "cyclone-pg/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";

// ── What is tested: an order is charged, then shipped; a reminder is sent a week later ──────────────────────────────

let gatewayIsDown = false;

const charge = defineStep("charge", { backoff: "5m" }, async (ctx, order: { id: number; amount: number }) => {
  if (gatewayIsDown) throw new Error("the payment gateway is down");
  const tx = await ctx.completionTx();
  await tx.query("insert into payments (order_id, amount) values ($1, $2)", [order.id, order.amount]);
  return { receipt: `R-${order.id}` };
});
const ship = defineAction("ship", async (ctx, _input: { order: number; receipt: string }) => {
  ctx.progress(1, "handed over");
});
const remind = defineAction("remind", async (_ctx, _input: { order: number }) => {});

const fulfil = defineWorkflow("fulfil", (b, order: { id: number; amount: number }) => {
  ship.do(b, { order: order.id, receipt: charge.do(b, order).get("receipt") });
});

/** The application's own function: it knows nothing of tests. */
async function placeOrder(client: ReturnType<typeof createClient>, order: { id: number; amount: number }) {
  await remind.enqueue(client, { order: order.id }, { delay: "7d" });
  return fulfil.submit(client, order, { idempotencyKey: `order-${order.id}` });
}

// ── Once per test file (or once per run, in the global set-up of your test runner) ──────────────────────────────────

let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let template: Awaited<ReturnType<typeof createTestTemplate>>;

beforeAll(async () => {
  server = await startEmbeddedPostgres({ durable: false }); // or the URL of any Postgres where you may create databases
  template = await createTestTemplate({
    server: server.url,
    prepare: async (url) => {
      const db = new Client({ connectionString: url });
      await db.connect();
      await db.query("create table payments (order_id int primary key, amount int not null)"); // your migrations
      await db.end();
    },
  });
});

afterAll(async () => {
  await dropTestTemplate(template);
  await server.stop();
});

// ── The tests: each has a database of its own ───────────────────────────────────────────────────────────────────────

test("an order is charged once and shipped", async () => {
  await using database = await createTestDatabase(template);
  await using client = createClient({ connection: database.url, handlers: [charge, ship, remind] });

  const run = await placeOrder(client, { id: 1, amount: 250 });
  await database.drain(client); // works until nothing is left that could be done now
  expect(await run.state()).toBe("completed");
  expect((await database.query("select * from payments")).rows).toEqual([{ order_id: 1, amount: 250 }]);
});

test("placing an order twice submits one run, and a reminder for next week", async () => {
  await using database = await createTestDatabase(template);
  await using client = createClient({ connection: database.url }); // a producer: nothing is called

  await placeOrder(client, { id: 2, amount: 99 });
  await placeOrder(client, { id: 2, amount: 99 });
  expect(await database.enqueued(fulfil)).toHaveLength(1);
  const reminder = await database.assertEnqueued(remind, { input: { order: 2 } });
  expect(Number(reminder.startsAt) - Date.now()).toBeGreaterThan(6 * 86_400_000);
});

test("a charge that fails is tried again after five minutes", async () => {
  await using database = await createTestDatabase(template);
  await using client = createClient({ connection: database.url, handlers: [charge, ship, remind] });
  await client.start();

  gatewayIsDown = true;
  const run = await placeOrder(client, { id: 3, amount: 10 });
  const { error } = await database.waitForNode(run, "charge", "scheduled");
  expect(error?.message).toBe("the payment gateway is down");

  gatewayIsDown = false;
  await database.advance("5m");
  await run.result();
  expect((await database.query("select order_id from payments")).rows).toEqual([{ order_id: 3 }]);
});

test("everything ends, however long it waits", async () => {
  await using database = await createTestDatabase(template);
  await using client = createClient({ connection: database.url, handlers: [charge, ship, remind] });

  await placeOrder(client, { id: 4, amount: 10 });
  await database.drain(client, { scheduled: true }); // time goes on to whatever is due next
  expect(await database.enqueued(remind)).toMatchObject([{ state: "completed" }]);
});
