import { expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** About 0.75 MB, which compresses badly. */
const numbers = (seed: number): number[] =>
  Array.from({ length: 42_000 }, (_, i) => ((i * 7_919 + seed) % 1_000_003) / 3);

it("inputs that together are more than a statement may take are claimed in smaller batches, and none is lost", {
  timeout: 180_000,
}, async () => {
  const measured = defineStep("measured", async (_ctx, list: number[]) => list.length);
  const producer = testClient(database);
  const jobs = [];
  for (let n = 0; n < 8; n++) {
    jobs.push(
      ...(await measured.enqueueMany(
        producer,
        Array.from({ length: 50 }, (_, i) => numbers(n * 50 + i)),
      )),
    );
  }
  const worker = testClient(database, { handlers: [measured], leaseTtl: "2s", concurrency: 400 });
  await worker.start();
  expect(new Set(await Promise.all(jobs.map((job) => job.result())))).toEqual(new Set([42_000]));
  // A busy machine may be given the reply to a claim when its leases have run out: then they are claimed again, without a charge.
  const { rows } = await database.query(
    "select distinct state::text, attempts from cyclone_steps where step = 'measured'",
  );
  expect(rows).toEqual([{ state: "completed", attempts: 1 }]);
});

it("a fan-in whose outputs the database can't put together (256 MB) is discarded, and its run ends; what else there is goes on", {
  timeout: 180_000,
}, async () => {
  const big = defineStep("big", async () => "x".repeat(1_000_000));
  const join = defineStep("join", async (_ctx, list: string[]) => list.length);
  const flow = defineWorkflow("too-wide", (b) => {
    const parts = Array.from({ length: 300 }, () => big.do(b));
    join.do(b, parts.slice(0, 3), { name: "narrow" });
    return join.do(b, parts);
  });
  const worker = await testWorker(database, [big, join]);
  const run = await flow.submit(worker);
  expect(await run.wait()).toMatchObject({
    state: "failed",
    error: { code: "CYCLONE_INVALID_PAYLOAD", node: "join", message: expect.stringContaining("maxInputBytes") },
  });
  expect(await run.node("narrow").output()).toBe(3);
});
