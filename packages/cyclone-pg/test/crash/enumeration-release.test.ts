import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Run } from "../../src/index.ts";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import type { CrashWorld } from "./crash-world.ts";
import { enumerateTransition, type WorkerTransition } from "./enumerate-transition.ts";

const record = new CrashRecord();

/** Starts a job, or a run, that must end so. */
const given =
  (state: "completed" | "failed", start: (world: CrashWorld) => Promise<Run<unknown>>): WorkerTransition["given"] =>
  async (world) =>
    world.expect({ run: (await start(world)).id, state });

const LOOK_GAP_MS = 5;
const runningSteps = async (world: CrashWorld): Promise<number> => {
  const { rows } = await world.database.query("select 1 from cyclone_steps where state = 'running'");
  return rows.length;
};

const transitions: readonly WorkerTransition[] = [
  {
    transition: "release with a backoff",
    points: /^release_steps/,
    given: given("completed", ({ scenarios, producer }) => scenarios.flaky.enqueue(producer)),
  },
  {
    transition: "release without a delay",
    points: /^release_steps/,
    given: given("completed", ({ scenarios, producer }) => scenarios.hasty.enqueue(producer)),
  },
  {
    transition: "release after a write of the completionTx",
    points: /^(rollback|release_steps)/,
    given: given("completed", ({ scenarios, producer }) => scenarios.payLate.enqueue(producer)),
  },
  {
    transition: "release for a snooze",
    points: /^release_steps/,
    given: given("completed", ({ scenarios, producer }) => scenarios.sleepy.enqueue(producer)),
  },
  {
    transition: "release by an interruption",
    points: /^(do|rollback|release_steps)/,
    given: given("completed", ({ scenarios, producer }) => scenarios.payAgain.enqueue(producer)),
  },
  {
    transition: "give back at stop",
    points: /^release_steps/,
    given: given("completed", ({ scenarios, producer }) => scenarios.patient.enqueue(producer)),
    work: async (world, url) => {
      await world.withWorker(url, {}, async () => {
        while ((await runningSteps(world)) === 0) await wait(LOOK_GAP_MS);
      });
      if ((await runningSteps(world)) > 0) world.complain("a worker that had stopped left its step leased");
    },
  },
  {
    transition: "discard with downstream",
    points: /^discard_steps/,
    given: given("failed", ({ scenarios, producer }) => scenarios.doomedLast.submit(producer, 1)),
  },
  {
    transition: "discard by an interruption",
    points: /^(rollback|discard_steps)/,
    given: given("failed", ({ scenarios, producer }) => scenarios.payNever.enqueue(producer)),
  },
];

describe.concurrent("a call that doesn't complete is recorded once, wherever it is cut", { timeout: 600_000 }, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateTransition(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.release)).toEqual([]);
});
