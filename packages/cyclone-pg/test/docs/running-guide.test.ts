import { createClient } from "cyclone-pg";
import { expect, it, onTestFinished } from "vitest";
import { spawnFixture } from "../support/process.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { tidy } from "./fixtures/running/contracts.ts";
import { pagePrograms } from "./page-programs.ts";

it("the programs in docs/running.md migrate, show what waits, work, submit, and stop at SIGTERM", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  await database.query("create table charges (id bigserial primary key, order_id text not null, cents int not null)");
  const program = await pagePrograms("running", ["migrate", "worker", "producer", "stats"]);
  const env = { DATABASE_URL: database.url };
  const succeeded = { status: 0, signal: null };

  const migration = spawnFixture(program("migrate"), [], env);
  expect(await migration.ended, migration.errorOutput).toEqual(succeeded);

  await using client = createClient({ connection: database.url });
  const waiting = await tidy.enqueue(client, { order: "o-0" });
  const stats = spawnFixture(program("stats"), [], env);
  expect(await stats.ended, stats.errorOutput).toEqual(succeeded);
  expect(stats.lines).toEqual([expect.stringMatching(/^default\/tidy: 1 available, for \d+ s$/)]);

  const worker = spawnFixture(program("worker"), [], env);
  await worker.waitForLine(/^Working\.$/);
  const producer = spawnFixture(program("producer"), [], env);
  expect(await producer.ended, producer.errorOutput).toEqual(succeeded);
  expect(producer.lines).toEqual(["{ number: 'R-1' }"]);
  await worker.waitForLine(/^Shipping o-1, receipt R-1\./);
  await worker.waitForLine(/^Nothing is left of o-1\./);

  await waiting.result({ signal: AbortSignal.timeout(20_000) });

  await worker.kill("SIGTERM");
  expect(await worker.ended, worker.errorOutput).toEqual(succeeded);
  expect((await database.query("select order_id, cents from charges")).rows).toEqual([
    { order_id: "o-1", cents: 4_990 },
  ]);
});
