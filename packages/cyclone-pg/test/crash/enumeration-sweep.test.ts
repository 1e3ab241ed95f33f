import { describe, expect, it } from "vitest";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import { startByDeadWorker } from "./dead-worker.ts";
import { enumerateTransition, type WorkerTransition } from "./enumerate-transition.ts";
import { leftExhausted, leftToReclaim } from "./left-by-dead-worker.ts";
import { hastyWorkerOptions } from "./worker-options.ts";

const record = new CrashRecord();

const transitions: readonly WorkerTransition[] = [
  {
    transition: "promote",
    points: /^promote_steps/,
    given: async (world) => {
      const run = await world.scenarios.chain.submit(world.producer, 3, { delay: "30ms" });
      world.expect({ run: run.id, state: "completed", output: 13 });
    },
  },
  {
    transition: "reclaim",
    points: /^reclaim_steps/,
    worker: hastyWorkerOptions,
    given: leftToReclaim,
  },
  {
    transition: "discard when reclaims are used up",
    points: /^(find_exhausted_steps|discard_steps)/,
    worker: hastyWorkerOptions,
    given: leftExhausted,
  },
  {
    transition: "activate what was missed",
    points: /^(find_unactivated_steps|complete_steps)/,
    given: async (world) => {
      const { pay, payChain } = world.scenarios;
      const run = await startByDeadWorker(world, {
        start: (options) => payChain.submit(world.producer, 4, options),
        step: pay.name,
        leaseMs: 60_000,
        completed: true,
      });
      world.expect({ run: run.id, state: "completed", output: 8 });
    },
  },
  {
    transition: "renew",
    points: /^(renew_leases|report_progress)/,
    given: async (world) => {
      const job = await world.scenarios.slow.enqueue(world.producer);
      // Its output is the number of times that it was reclaimed.
      world.expect({ run: job.id, state: "completed", output: 0 });
    },
  },
];

describe.concurrent("what a sweep or a renewal does is done once, wherever it is cut", { timeout: 600_000 }, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateTransition(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.sweep)).toEqual([]);
});
