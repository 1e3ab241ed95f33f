import { join } from "node:path";
import { describe, it } from "vitest";
import { useFixture } from "../support/fixture.ts";
import { sampleCrashPairs } from "../support/sample-crash-pairs.ts";
import { CrashRecord } from "./crash-record.ts";
import { CrashVictims } from "./crash-victims.ts";
import { CASE_LIMIT_MS, CrashWorld } from "./crash-world.ts";
import { hastyWorkerOptions } from "./worker-options.ts";

const program = useFixture(join(import.meta.dirname, "fixtures/crash-worker.ts"));

/** All that a claim, a completion and a completionTx consist of, and what follows when they fail. */
const points =
  /^(claim_steps|complete_steps|release_steps|reclaim_steps|look_up_completion|begin_completion_tx|insert into ledger|complete_own_row|commit|rollback)/;

const samples = 8;

/**
 * A process is killed at one point; the worker that goes on where it was has its connection cut at another. Which points, the
 * seed decides: all pairs would take hours.
 */
async function sample(seed: number, submit: (world: CrashWorld) => Promise<void>) {
  await using world = await CrashWorld.open();
  await using victims = new CrashVictims(world, program.path);
  return await sampleCrashPairs({
    transition: "two faults",
    target: world.database.url,
    limitMs: CASE_LIMIT_MS,
    samples,
    seed,
    only: new CrashRecord().counting(points),
    kill: () => victims.pid,
    operation: async (url) => {
      const victim = await victims.working(url);
      await submit(world);
      const dead = new AbortController();
      void victim.ended.then(() => dead.abort());
      await world.runsEnd("a process that wasn't killed", dead.signal);
    },
    recover: async (url) => {
      await world.expireLeases();
      await world.withWorker(url, hastyWorkerOptions, () => world.runsEnd("the worker that went on"));
    },
    check: () => world.check(),
  });
}

describe.concurrent("two faults in a row", { timeout: 600_000 }, () => {
  it("leave siblings by completionTx, and their join, done once", async ({ expect }) => {
    const report = await sample(20_241, async (world) => {
      const run = await world.scenarios.payFan.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 18 });
    });
    expect(report.violations).toEqual([]);
    expect(report.pairs.some((pair) => pair.cuts.length === 2)).toBe(true);
  });

  it("leave a fan whose parts are bound, done once", async ({ expect }) => {
    const report = await sample(20_242, async (world) => {
      const run = await world.scenarios.fan.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 24 });
    });
    expect(report.violations).toEqual([]);
    expect(report.pairs.some((pair) => pair.cuts.length === 2)).toBe(true);
  });
});
