import { NOTHING_ISOLATED } from "../../../src/sql/isolation.ts";
import { findExhaustedSteps } from "../../../src/sql/sweep/find-exhausted-steps.ts";
import { findSuspects, type SuspectKind } from "../../../src/sql/sweep/find-suspects.ts";
import { findUnactivatedSteps } from "../../../src/sql/sweep/find-unactivated-steps.ts";
import { look } from "../../../src/sql/sweep/look.ts";
import { promoteSteps } from "../../../src/sql/sweep/promote-steps.ts";
import { reclaimSteps } from "../../../src/sql/sweep/reclaim-steps.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { SHAPES } from "../volume.ts";

const isolation = NOTHING_ISOLATED;
const lengthOf = (rows: readonly unknown[]): number => rows.length;

function suspects(kind: SuspectKind): PlanCase {
  return planCase({
    name: `find 100 suspects that are ${kind}`,
    statement: findSuspects,
    params: { bucket: 0, kind, queues: ["default"], steps: ["noop"], limit: 100, excluded: [] },
    items: 100,
    expected: lengthOf,
    buffers: 25,
    rows: 6,
  });
}

export const sweepCases = (): readonly PlanCase[] => [
  planCase({
    name: "look at one lane",
    statement: look,
    params: { bucket: 0, queues: ["default"], steps: ["noop"], unactivatedAfterMs: 2_000 },
    items: 1,
    expected: lengthOf,
    buffers: 0,
    rows: 0,
  }),
  planCase({
    name: "look at 50 lanes that have nothing",
    statement: look,
    params: {
      bucket: 0,
      queues: ["default"],
      steps: Array.from({ length: 50 }, (_, i) => `not-here-${i}`),
      unactivatedAfterMs: 2_000,
    },
    items: 1,
    expected: (rows) => (rows[0]?.["available"] === false ? 1 : "available"),
    buffers: 0,
    rows: 0,
  }),
  planCase({
    name: "promote 1,000",
    statement: promoteSteps,
    params: { bucket: 0, limit: 1_000, isolation },
    items: SHAPES.due,
    expected: (rows) => rows[0]?.["promoted"],
    buffers: 35,
    rows: 8,
  }),
  planCase({
    name: "reclaim 100",
    statement: reclaimSteps,
    params: { bucket: 0, limit: 100, guardMs: 0, isolation },
    items: 100,
    expected: lengthOf,
    buffers: 45,
    rows: 10,
  }),
  planCase({
    name: "find 100 exhausted",
    statement: findExhaustedSteps,
    params: { bucket: 0, limit: 100, guardMs: 0, isolation },
    items: 100,
    expected: lengthOf,
    buffers: 5,
    rows: 6,
  }),
  planCase({
    name: "find 100 unactivated",
    statement: findUnactivatedSteps,
    params: { bucket: 0, limit: 100, olderThanMs: 2_000, isolation },
    items: 100,
    expected: lengthOf,
    buffers: 5,
    rows: 6,
  }),
  suspects("available"),
  suspects("due"),
  suspects("expired"),
];
