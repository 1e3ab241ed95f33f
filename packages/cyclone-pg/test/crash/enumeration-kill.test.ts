import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { enumerateCrashPoints } from "../support/enumerate-crash-points.ts";
import { useFixture } from "../support/fixture.ts";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import { CrashVictims } from "./crash-victims.ts";
import { CASE_LIMIT_MS, CrashWorld } from "./crash-world.ts";
import { startByDeadWorker } from "./dead-worker.ts";
import { enumerateKills } from "./enumerate-kills.ts";
import type { WorkerTransition } from "./enumerate-transition.ts";
import { leftExhausted, leftToReclaim } from "./left-by-dead-worker.ts";

const program = useFixture(join(import.meta.dirname, "fixtures/crash-worker.ts"));
const record = new CrashRecord();

const transitions: readonly Pick<WorkerTransition, "transition" | "points" | "given">[] = [
  {
    transition: "kill: claim and complete",
    points: /^(claim|complete)_steps/,
    given: async (world) => {
      const job = await world.scenarios.double.enqueue(world.producer, 3);
      world.expect({ run: job.id, state: "completed", output: { value: 6 } });
    },
  },
  {
    transition: "kill: complete by completionTx",
    points: /^(begin_completion_tx|insert into ledger|complete_own_row|commit|complete_steps)/,
    given: async (world) => {
      const job = await world.scenarios.book.enqueue(world.producer, 3);
      world.expect({ run: job.id, state: "completed", output: 3 });
    },
  },
  {
    transition: "kill: release with a backoff",
    points: /^release_steps/,
    given: async (world) => {
      const job = await world.scenarios.flaky.enqueue(world.producer);
      world.expect({ run: job.id, state: "completed", output: 2 });
    },
  },
  {
    transition: "kill: discard with downstream",
    points: /^discard_steps/,
    given: async (world) => {
      const run = await world.scenarios.doomedLast.submit(world.producer, 3);
      world.expect({ run: run.id, state: "failed" });
    },
  },
  {
    transition: "kill: reclaim",
    points: /^reclaim_steps/,
    given: leftToReclaim,
  },
  {
    transition: "kill: discard when reclaims are used up",
    points: /^discard_steps/,
    given: leftExhausted,
  },
  {
    transition: "kill: activate what was missed",
    points: /^complete_steps/,
    given: async (world) => {
      const { pay } = world.scenarios;
      const run = await startByDeadWorker(world, {
        start: (options) => pay.enqueue(world.producer, undefined, options),
        step: pay.name,
        leaseMs: 60_000,
        completed: true,
      });
      world.expect({ run: run.id, state: "completed" });
    },
  },
];

describe.concurrent("a worker's process that is killed at any point leaves nothing undone", {
  timeout: 600_000,
}, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateKills(transition, program.path, record);
      expect(report.violations).toEqual([]);
    });
  }

  it("kill: submit with a key", async ({ expect }) => {
    await using world = await CrashWorld.open();
    await using victims = new CrashVictims(world, program.path);
    let cases = 0;
    let key = "";
    const report = await enumerateCrashPoints({
      transition: "kill: submit with a key",
      target: world.database.url,
      limitMs: CASE_LIMIT_MS,
      coverage: record.coverage,
      only: record.counting(/^/),
      kill: () => victims.pid,
      operation: async (url) => {
        key = `key-${++cases}`;
        await victims.submit(url, key);
      },
      check: async () => {
        // Whoever wanted the run asks for it again: it is the one that was submitted, if it was.
        const run = await world.scenarios.fan.submit(world.producer, 1, { idempotencyKey: key });
        world.expect({ run: run.id, state: "completed", output: 12 });
        return world.check();
      },
    });
    await record.addMoves(world);
    expect(report.violations).toEqual([]);
  });
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.kill)).toEqual([]);
});
