import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { expect, inject, it } from "vitest";
import { type Client as Cyclone, defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { eventsOf, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { isSoak, span } from "./spans.ts";

const database = useTestDatabase();

/** What half an hour at 500 jobs a second leaves in the indexes. */
const CLAIMED = span(150_000, 900_000);
const RATE = 500;
const TICK_MS = 100;
const SECONDS = span(4, 60);
/** How long 95 of 100 jobs wait at most: now and then a claim of everything, over all that can't be removed, comes in between. */
const HELD_WAIT_MS = span(15_000, 5_000);
const USUAL_WAIT_MS = span(3_000, 500);
const RECOVERY_MS = 60_000;
/** Of the rate at which jobs come. Beside other tests a few seconds say that workers go on, and little more. */
const LEAST = isSoak ? 0.5 : 0.1;

const noop = defineStep("noop", (_ctx, n: number) => n);

/** Jobs that were available, ran and completed while a snapshot was held: none of their rows' versions can be removed. */
async function claimUnderSnapshot(holder: Client): Promise<void> {
  const buckets = inject("postgres").bucketCount;
  const id = "('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";
  await database.query(`
    insert into cyclone_runs (bucket, id, kind, name, remaining) select n % ${buckets}, ${id}, 'step', 'noop', 1 from generate_series(1, ${CLAIMED}) n`);
  await database.query(`
    insert into cyclone_steps (bucket, run_id, key, node, step, kind, state, available_at)
    select n % ${buckets}, ${id}, 0, 'noop', 'noop', 'step', 'available', statement_timestamp() - interval '1 hour' + n * interval '1 ms'
    from generate_series(1, ${CLAIMED}) n`);
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from cyclone_runs");
  await database.query(`
    update cyclone_steps set state = 'running', lease_epoch = 1, lease_owner = run_id, lease_expiry = available_at + interval '30 seconds', started_at = available_at`);
  await database.query(`
    update cyclone_steps set state = 'completed', attempts = 1, lease_owner = null, lease_expiry = null, finished_at = available_at, output = '1'`);
  await database.query("update cyclone_runs set state = 'completed', remaining = 0, finished_at = created_at");
}

/** @returns jobs a second, and how long 95 of 100 waited, while jobs come steadily */
async function measured(client: Cyclone, seconds: number): Promise<{ rate: number; waitMs: number }> {
  const claimed = eventsOf(client, "step.claimed");
  const completed = eventsOf(client, "step.completed");
  const inputs = Array.from({ length: (RATE * TICK_MS) / 1_000 }, (_, i) => i);
  const began = performance.now();
  for (let tick = 1; tick <= (seconds * 1_000) / TICK_MS; tick++) {
    await noop.enqueueMany(client, inputs);
    await wait(Math.max(0, began + tick * TICK_MS - performance.now()));
  }
  const waits = claimed.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b);
  return {
    rate: completed.length / ((performance.now() - began) / 1_000),
    waitMs: waits[Math.floor(waits.length * 0.95)] ?? Number.POSITIVE_INFINITY,
  };
}

it("R45: a snapshot that is held while many steps are claimed doesn't stop claims, which recover once it ends", {
  timeout: span(300_000, 600_000),
}, async () => {
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  try {
    await claimUnderSnapshot(holder);
    const client = await testWorker(database, [noop], { concurrency: 20, pollInterval: "1s" });
    const held = await measured(client, SECONDS);
    await holder.query("commit");
    const after = await eventually(async () => {
      const now = await measured(client, 3);
      expect(now.waitMs).toBeLessThan(USUAL_WAIT_MS);
      expect(now.rate).toBeGreaterThan(RATE * LEAST);
      return now;
    }, RECOVERY_MS);
    const shown = ({ rate, waitMs }: typeof held) =>
      `${rate.toFixed(0)} jobs/s, waits of ${waitMs.toFixed(0)} ms (p95)`;
    console.log(`beside ${CLAIMED} steps claimed under a held snapshot: ${shown(held)}; after it: ${shown(after)}`);
    expect(held.rate).toBeGreaterThan(RATE * LEAST);
    expect(held.waitMs).toBeLessThan(HELD_WAIT_MS);
  } finally {
    await holder.end();
  }
});
