import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, Discard, implement } from "cyclone-pg";
import { createTestDatabase, type TestDatabase } from "cyclone-pg/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { spawnFixture } from "../support/process.ts";
import { quietLog } from "../support/quiet-log.ts";
import * as fromBullmq from "./fixtures/coming-from/from-bullmq.ts";
import * as fromGraphileWorker from "./fixtures/coming-from/from-graphile-worker.ts";
import * as fromPgBoss from "./fixtures/coming-from/from-pg-boss.ts";
import { refund } from "./fixtures/deploys/change-an-input.ts";
import { runsThatNeed } from "./fixtures/deploys/is-it-still-needed.ts";
import { charge, chargeBefore } from "./fixtures/deploys/rename-a-step.ts";
import { complaints } from "./fixtures/operating/watch.ts";
import { fulfil, fulfilWithinAnHour, invoice, reserve } from "./fixtures/retries/all-or-nothing.ts";
import { awaitShipment } from "./fixtures/retries/await-shipment.ts";
import { chargeCard } from "./fixtures/retries/charge-card.ts";
import { retryAfterMending } from "./fixtures/retries/look-after-failures.ts";
import { pagePrograms } from "./page-programs.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres").template);
});
afterAll(() => database.drop());

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A server that gives these answers, one after the other, and the last one from then on. */
async function serverOf(answers: readonly { status?: number; body?: unknown }[]): Promise<string> {
  let asked = 0;
  const server = createServer((_request, response) => {
    const { status = 200, body = {} } = answers[Math.min(asked++, answers.length - 1)] ?? {};
    response.writeHead(status, { connection: "close" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("docs/start.md: its programs set up, work, submit in a transaction, and read the result", async () => {
  const program = await pagePrograms("start", ["setup", "worker", "order", "read"]);
  const start = (name: string, ...args: string[]) => spawnFixture(program(name), args, { DATABASE_URL: database.url });
  const succeeded = { status: 0, signal: null };

  const setup = start("setup");
  expect(await setup.ended, setup.errorOutput).toEqual(succeeded);
  const worker = start("worker");
  await worker.waitForLine(/^Working\.$/, 60_000);
  const order = start("order");
  expect(await order.ended, order.errorOutput).toEqual(succeeded);
  const id = /^Submitted: (.+)$/.exec(order.lines[0] ?? "")?.[1] ?? "";
  const read = start("read", id);
  expect(await read.ended, read.errorOutput).toEqual(succeeded);
  expect(read.lines[0]).toBe("{ receipt: 'R-1' }");
  expect(read.lines.slice(1).sort()).toEqual(["charge: completed", "mail: completed"]);
  await worker.waitForLine(/^Order o-1 is paid, receipt R-1\./, 60_000);
  await worker.kill("SIGTERM");
  expect(await worker.ended, worker.errorOutput).toEqual(succeeded);
});

describe("docs/retries.md", () => {
  it("steps decide by the answer whether and when they are called again, and whether that is charged", async () => {
    const handlers = [chargeCard, awaitShipment];
    await using client = createClient({ connection: database.url, handlers, log: quietLog });
    await client.start();
    const url = await serverOf([{ status: 429 }, { status: 500 }, {}]);
    const paid = await chargeCard.enqueue(client, { url, cents: 100 });
    const declined = await chargeCard.enqueue(client, { url: await serverOf([{ status: 402 }, {}]), cents: 200 });
    const moving = { body: { state: "moving" } };
    const arrived = await serverOf([moving, moving, { body: { state: "arrived" } }]);
    const shipped = await awaitShipment.enqueue(client, { url: arrived });
    await database.drain(client, { scheduled: true });
    expect(await paid.output()).toEqual({ paid: 100 });
    expect((await paid.node("charge-card").attempts()).map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
    expect(await shipped.output()).toEqual({ questions: 3 });
    expect((await shipped.nodes())[0]).toMatchObject({ attempt: 1 });

    expect(await declined.state()).toBe("failed");
    expect(await retryAfterMending(client, "declined")).toEqual(["charge-card at charge-card: discarded"]);
    await database.drain(client);
    expect(await declined.output()).toEqual({ paid: 200 });
  });

  it("a run that fails fast ends at once, one with a deadline in time", async () => {
    const reserveHere = implement(reserve, async (_ctx, { item }) => {
      if (item === "b") throw new Discard("sold out");
    });
    const invoiceHere = implement(invoice, async () => {});
    await using client = createClient({
      connection: database.url,
      handlers: [reserveHere, invoiceHere],
      log: quietLog,
    });
    const soldOut = await fulfil.submit(client, ["b"]);
    await database.drain(client);
    expect(await soldOut.wait()).toMatchObject({ state: "failed", error: { message: "sold out" } });
    await client.queues.pause("default");
    onTestFinished(async () => {
      await database.query("update cyclone_queues set paused = false");
    });
    const late = await fulfilWithinAnHour(client, ["a"]);
    await database.advance("2h");
    await client.start();
    expect(await late.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_DEADLINE" } });
    await client.queues.resume("default");
  });
});

it("docs/deploys.md: old names and old inputs find their handlers, and what still needs one is found", async () => {
  await using producer = createClient({ connection: database.url });
  const before = await chargeBefore.enqueue(producer, { id: "1", cents: 5 });
  const after = await charge.enqueue(producer, { id: "2", cents: 5 });
  const refunds = await refund.enqueueMany(producer, [
    { id: "1", euros: 2 },
    { id: "2", cents: 150 },
  ]);
  expect(await runsThatNeed(producer, "charge")).toEqual([before.id]);
  await using client = createClient({ connection: database.url, handlers: [charge, chargeBefore, refund] });
  await database.drain(client);
  expect([await before.output(), await after.output()]).toEqual([{ receipt: "R-1" }, { receipt: "R-2" }]);
  expect(await Promise.all(refunds.map((run) => run.output()))).toEqual([
    { id: "1", refunded: 200 },
    { id: "2", refunded: 150 },
  ]);
  expect(await runsThatNeed(producer, "charge")).toEqual([]);
});

describe("docs/operating.md", () => {
  it("tells what waits and why", async () => {
    await using client = createClient({ connection: database.url });
    await charge.enqueue(client, { id: "3", cents: 5 }, { queue: "nobody's" });
    await database.query(
      "update cyclone_steps set available_at = available_at - interval '1 h' where state = 'available'",
    );
    expect(await complaints(client)).toContain(
      "nobody's/charge-order: 1 wait, for more than five minutes: nobody calls it",
    );
    await client.queues.pause("nobody's");
    expect((await complaints(client))[0]).toContain("the queue is paused");
  });

  it("has queries that run", async () => {
    const folder = here("./fixtures/operating");
    const files = readdirSync(folder).filter((file) => file.endsWith(".sql") && file !== "roles.sql");
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) await database.query(readFileSync(join(folder, file), "utf8"));
    const { rows } = await database.query(readFileSync(join(folder, "sizes.sql"), "utf8"));
    expect(rows[0]).toMatchObject({ relname: expect.stringContaining("cyclone_"), size: expect.any(String) });
  });

  it("has roles that can do what they are for, and no more", async () => {
    const own = `r${process.pid}_`;
    const sql = readFileSync(here("./fixtures/operating/roles.sql"), "utf8").replaceAll("cyclone_", own);
    await database.query(sql);
    onTestFinished(async () => {
      for (const role of ["reader", "worker", "migrator"])
        await database.query(`drop owned by ${own + role} cascade; drop role ${own + role}`);
    });
    const as = (role: string): string => {
      const url = new URL(database.url);
      url.username = own + role;
      return url.href;
    };
    await using migrator = createClient({ connection: as("migrator"), schema: "jobs" });
    await migrator.migrate();
    await using worker = createClient({ connection: as("worker"), schema: "jobs", handlers: [charge] });
    const run = await charge.enqueue(worker, { id: "4", cents: 5 });
    await worker.drain();
    await using reader = createClient({ connection: as("reader"), schema: "jobs", log: quietLog });
    expect(await reader.run(run.id, charge).output()).toEqual({ receipt: "R-4" });
    await expect(charge.enqueue(reader, { id: "5", cents: 5 })).rejects.toThrow("permission denied");
  });
});

it("docs/coming-from.md: each of the examples works", async () => {
  await database.query("create table images (id text primary key, resized boolean)");
  await using pgBoss = fromPgBoss.worker(database.url);
  const greeted = await fromPgBoss.greet(pgBoss, { user: "1", to: "you" });
  const again = await fromPgBoss.greet(pgBoss, { user: "1", to: "you" });
  expect([again.id, again.existing]).toEqual([greeted.id, true]);
  const handlers = [fromGraphileWorker.resize, fromBullmq.render, fromBullmq.bundle];
  await using client = createClient({ connection: database.url, handlers });
  const pool = new Pool({ connectionString: database.url });
  const tx = await pool.connect();
  await tx.query("begin");
  const image = await fromGraphileWorker.addImage(client, tx, "a");
  await tx.query("commit");
  tx.release();
  await pool.end();
  const published = await fromBullmq.publish.submit(client, ["x", "y"]);
  await Promise.all([pgBoss.start(), client.start()]);
  await database.advance("1m");
  await greeted.result();
  expect(await published.result()).toBe(2);
  await image.result();
  expect((await database.query("select * from images")).rows).toEqual([{ id: "a", resized: true }]);
});
