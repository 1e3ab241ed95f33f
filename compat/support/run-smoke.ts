import { expect } from "vitest";
import { defineStep } from "../../packages/cyclone-pg/src/index.ts";
import { spawnFixture } from "../../packages/cyclone-pg/test/support/process.ts";
import { testWorker } from "../../packages/cyclone-pg/test/support/test-client.ts";
import type { TestDatabase } from "../../packages/cyclone-pg/test/support/test-database.ts";
import type { Runtime } from "./runtimes.ts";

/** What is run, and by what. */
export interface SmokeProgram {
  readonly runtime: Runtime;
  readonly path: string;
  readonly cwd: string;
  /** A name of its own among those that use the database. */
  readonly schema: string;
}

/** Longer than a busy machine may let a process wait. */
const LEASE_MS = 2_500;
const BLOCK_MS = 3 * LEASE_MS;
/** A program that something keeps alive never ends. */
const END_WITHIN_MS = 20_000;
const LINE_LIMIT_MS = 60_000;
/** The worker says so of whatever blocks it for more than 5 s. */
const TOLD_OF = "A handler kept the event loop from running: compute in a worker thread, or in smaller pieces.";

/**
 * Runs `programs/smoke.mjs` and checks all that it must do. While its handler blocks for three leases, another worker is there
 * that would take the step over if its lease weren't renewed.
 */
export async function expectSmoke(database: TestDatabase, { runtime, path, cwd, schema }: SmokeProgram): Promise<void> {
  await database.query(`create schema ${schema}`);
  await database.query(`create table ${schema}.ledger (run_id uuid, amount int)`);
  const args = [database.url, schema, String(LEASE_MS), String(BLOCK_MS)];
  const running = spawnFixture(path, args, {}, { cwd, runtime: runtime.command });
  await running.waitForLine(/^blocking$/, LINE_LIMIT_MS);
  let takenOver = 0;
  const compute = defineStep("compute", (_ctx, _n: number) => void (takenOver += 1));
  await testWorker(database, [compute], { schema, leaseTtl: LEASE_MS });

  await running.waitForLine(/^stopped$/, LINE_LIMIT_MS);
  const stoppedAt = performance.now();
  expect(await running.ended).toEqual({ status: 0, signal: null });
  expect(performance.now() - stoppedAt).toBeLessThan(END_WITHIN_MS);
  expect(running.errorOutput).toBe("");
  expect(running.lines).toEqual([
    `on ${runtime.version}`,
    'job {"amount":1,"attempt":1}',
    'workflow {"amount":40,"attempt":1}',
    "blocking",
    `warned ${TOLD_OF}`,
    "blocked 42",
    "stopped",
  ]);
  expect(takenOver).toBe(0);
  expect(await stepsIn(database, schema)).toEqual(
    [
      ...["double", "record", "tell"].map((step) => `order ${step} completed, attempts 1, reclaims 0, epoch 1`),
      ...["compute", "record"].map((step) => `${step} ${step} completed, attempts 1, reclaims 0, epoch 1`),
    ].sort(),
  );
  const { rows } = await database.query(`select amount from ${schema}.ledger order by amount`);
  expect(rows.map(({ amount }) => amount)).toEqual([1, 40, 41]);
}

async function stepsIn(database: TestDatabase, schema: string): Promise<string[]> {
  const { rows } = await database.query<{ line: string }>(
    `select format('%s %s %s, attempts %s, reclaims %s, epoch %s', r.name, s.step, s.state, s.attempts, s.reclaims, s.lease_epoch) as line
     from ${schema}.cyclone_steps s join ${schema}.cyclone_runs r on r.id = s.run_id`,
  );
  return rows.map(({ line }) => line).sort();
}
