import { describe, expect, it } from "vitest";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import { enumerateTransition, type WorkerTransition } from "./enumerate-transition.ts";
import { hastyWorkerOptions } from "./worker-options.ts";

const record = new CrashRecord();

const transitions: readonly WorkerTransition[] = [
  {
    transition: "a worker's start, a claim and a completion",
    // What each start passes. Renewals and the sweep come when a machine is slow, so not in each; they are cut in cases of their own.
    points: /^(read_installation|ask_isolation|listen|probe|claim_steps|look|complete_steps|notify)$/,
    given: async (world) => {
      const job = await world.scenarios.double.enqueue(world.producer, 3);
      world.expect({ run: job.id, state: "completed", output: { value: 6 } });
    },
    work: (world, url) =>
      world.withWorker(url, { ...hastyWorkerOptions, pollInterval: "500ms" }, () =>
        world.runsEnd("the worker whose connection was cut"),
      ),
  },
  {
    transition: "complete a job",
    points: /^complete_/,
    given: async (world) => {
      const job = await world.scenarios.double.enqueue(world.producer, 3);
      world.expect({ run: job.id, state: "completed", output: { value: 6 } });
    },
  },
  {
    transition: "complete a chain whose inputs are bound",
    points: /^complete_/,
    given: async (world) => {
      const run = await world.scenarios.chain.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 13 });
    },
  },
  {
    transition: "complete a fan",
    points: /^complete_/,
    given: async (world) => {
      const run = await world.scenarios.fan.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 24 });
    },
  },
  {
    transition: "complete siblings one after the other",
    points: /^complete_/,
    given: async (world) => {
      const run = await world.scenarios.turns.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 12 });
    },
  },
  {
    transition: "complete the last node of a failed run",
    points: /^complete_/,
    given: async (world) => {
      const run = await world.scenarios.doomedFirst.submit(world.producer, 3);
      world.expect({ run: run.id, state: "failed" });
    },
  },
];

describe.concurrent("a completion that is cut at any point", { timeout: 600_000 }, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateTransition(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.complete)).toEqual([]);
});
