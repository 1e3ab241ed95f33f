import { describe, expect, it } from "vitest";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import { enumerateTransition, type WorkerTransition } from "./enumerate-transition.ts";

const record = new CrashRecord();

/** From BEGIN on: the handler's write, the completion, COMMIT, and the activation that follows. */
const points = /^(begin_completion_tx|insert into ledger|complete_own_row|commit|complete_steps)/;

const transitions: readonly WorkerTransition[] = [
  {
    transition: "complete by completionTx",
    points,
    given: async (world) => {
      const run = await world.scenarios.payChain.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 6 });
    },
  },
  {
    transition: "complete siblings by completionTx",
    points,
    given: async (world) => {
      const run = await world.scenarios.payFan.submit(world.producer, 3);
      world.expect({ run: run.id, state: "completed", output: 18 });
    },
  },
];

describe.concurrent("a completionTx that is cut at any point commits once", { timeout: 600_000 }, () => {
  for (const transition of transitions) {
    it(transition.transition, async ({ expect }) => {
      const report = await enumerateTransition(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.completionTx)).toEqual([]);
});
