import { claimSteps } from "../../../src/sql/claim/claim-steps.ts";
import { NOTHING_ISOLATED } from "../../../src/sql/isolation.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { OWNER, SHAPES } from "../volume.ts";

interface Lane {
  readonly queue: string;
  readonly step: string;
}

/** As the worker claims: many lanes have quotas per queue, a single one is taken as it comes. */
function params(lanes: readonly Lane[], limit: number, quota: number, since = "-infinity") {
  return {
    bucket: 0,
    queues: lanes.map((lane) => lane.queue),
    steps: lanes.map((lane) => lane.step),
    quotas: lanes.map(() => quota),
    sole: lanes.map(() => lanes.length === 1),
    since: lanes.map(() => since),
    limit,
    owner: OWNER,
    leaseMs: 30_000,
    inputBytesMax: 67_108_864,
    isolation: NOTHING_ISOLATED,
  };
}

const noop = [{ queue: "default", step: "noop" }];

/** A claim of one lane, that of the volume's plain jobs. */
export const claimOf = (limit: number) => params(noop, limit, limit);
const twenty = ["q0", "q1", "q2", "q3"].flatMap((queue) =>
  ["s0", "s1", "s2", "s3", "s4"].map((step) => ({ queue, step })),
);
const strangers = Array.from({ length: 50 }, (_, i) => ({ queue: "default", step: `not-here-${i}` }));
const lengthOf = (rows: readonly Record<string, unknown>[]): number =>
  rows.filter((row) => row["run_id"] !== null).length;

export const claimCases = (): readonly PlanCase[] => [
  planCase({
    name: "claim 200 in one lane",
    statement: claimSteps,
    params: claimOf(200),
    items: 200,
    expected: lengthOf,
    buffers: 25,
    rows: 8,
  }),
  planCase({
    name: "claim 200 in one lane of what is recent",
    statement: claimSteps,
    params: params(noop, 200, 200, "2020-01-01T00:00:00Z"),
    items: 200,
    expected: lengthOf,
    buffers: 25,
    rows: 8,
  }),
  planCase({
    name: "claim 1",
    statement: claimSteps,
    params: claimOf(1),
    items: 1,
    expected: lengthOf,
    buffers: 25,
    rows: 8,
  }),
  planCase({
    name: "claim 200 in 20 lanes",
    statement: claimSteps,
    params: params(twenty, 200, 50),
    items: 200,
    expected: lengthOf,
    buffers: 25,
    rows: 20,
  }),
  planCase({
    name: "claim in 50 lanes that have nothing",
    statement: claimSteps,
    params: params(strangers, 200, 200),
    items: 0,
    expected: lengthOf,
    buffers: 0,
    rows: 0,
  }),
  planCase({
    name: "claim 2 with 1,000 outputs each",
    statement: claimSteps,
    params: params([{ queue: "default", step: "bind" }], 2, 2),
    items: SHAPES.binding.runs * SHAPES.binding.width,
    expected: (rows) => (rows.map((row) => row["outputs"]) as unknown[][]).flat().length,
    buffers: 10,
    rows: 8,
  }),
];
