import { countLiveSteps } from "../../../src/sql/read/count-live-steps.ts";
import { countRecentRuns } from "../../../src/sql/read/count-recent-runs.ts";
import { findEndedRuns } from "../../../src/sql/read/find-ended-runs.ts";
import { listRuns } from "../../../src/sql/read/list-runs.ts";
import { listUnsuccessfulRuns } from "../../../src/sql/read/list-unsuccessful-runs.ts";
import { readAttempts } from "../../../src/sql/read/read-attempts.ts";
import { readEdges } from "../../../src/sql/read/read-edges.ts";
import { readNode } from "../../../src/sql/read/read-node.ts";
import { readNodes } from "../../../src/sql/read/read-nodes.ts";
import { readRun } from "../../../src/sql/read/read-run.ts";
import type { ListRunsParams } from "../../../src/sql/read/run-list.ts";
import { findKeyedRuns } from "../../../src/sql/submit/find-keyed-runs.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { runIdOf, SHAPES } from "../volume.ts";
import { countUp } from "./leases.ts";

const lengthOf = (rows: readonly unknown[]): number => rows.length;
const run = { bucket: 0, runId: runIdOf("heads", 1) };

const everyRun: ListRunsParams = {
  ...listRuns.sample,
  states: null,
  kind: null,
  name: null,
  tags: null,
  error: null,
  step: null,
  queue: null,
  scan: 10_000,
  limit: 51,
};
/** The place of the last run that was looked at, where none fits. */
const lookedAt = (rows: readonly Record<string, unknown>[]): unknown =>
  rows.length === 1 ? Number(rows[0]?.["place"]) : "rows";

export const readCases = (): readonly PlanCase[] => [
  planCase({
    name: "find 200 ended among 1,000 runs",
    statement: findEndedRuns,
    params: {
      bucket: 0,
      ids: [
        ...countUp(1, 200).map((n) => runIdOf("finished", n)),
        ...countUp(1, 800).map((n) => runIdOf("running", n)),
      ],
      wantResult: countUp(1, 1_000).map(() => true),
    },
    items: 1_000,
    expected: (rows) => rows.length * 5,
    buffers: 10,
    rows: 6,
  }),
  planCase({
    name: "read a run",
    statement: readRun,
    params: { bucket: 0, id: runIdOf("finished", 1), wantResult: true },
    items: 1,
    expected: lengthOf,
    buffers: 15,
    rows: 5,
  }),
  planCase({
    name: "read the 102 nodes of a fan",
    statement: readNodes,
    params: run,
    items: 102,
    expected: lengthOf,
    buffers: 5,
    rows: 5,
  }),
  planCase({
    name: "read the 200 edges of a fan",
    statement: readEdges,
    params: run,
    items: 200,
    expected: lengthOf,
    buffers: 5,
    rows: 5,
  }),
  planCase({
    name: "read a node by its name",
    statement: readNode,
    params: { ...run, node: "n50" },
    items: 1,
    expected: lengthOf,
    buffers: 10,
    rows: 10,
  }),
  planCase({
    name: "list 51 runs",
    statement: listRuns,
    params: everyRun,
    items: 51,
    expected: lengthOf,
    buffers: 5,
    rows: 5,
  }),
  planCase({
    name: "look at 10,000 runs of which none fits",
    statement: listRuns,
    params: { ...everyRun, name: "none", error: "none", tags: ["none"] },
    items: 10_000,
    expected: lookedAt,
    buffers: 1.5,
    rows: 4,
  }),
  planCase({
    name: "look at the nodes of 1,000 runs of which none fits",
    statement: listRuns,
    params: { ...everyRun, step: "none", queue: "none", scan: 1_000 },
    items: 1_000,
    expected: lookedAt,
    buffers: 15,
    rows: 30,
  }),
  planCase({
    name: "list 51 failed runs",
    statement: listUnsuccessfulRuns,
    params: { ...everyRun, states: ["failed"] },
    items: 51,
    expected: lengthOf,
    // Dead entries of what other cases end and roll back come before them.
    buffers: 25,
    rows: 5,
  }),
  planCase({
    name: "count 10,000 live steps of each state",
    statement: countLiveSteps,
    params: { bucket: 0, limit: 10_000 },
    items: 10_000,
    expected: (rows) => rows.reduce((sum, row) => sum + (row["state"] === "scheduled" ? Number(row["count"]) : 0), 0),
    buffers: 4,
    rows: 8,
  }),
  planCase({
    name: "count the youngest 10,000 runs",
    statement: countRecentRuns,
    params: { bucket: 0, windowMs: 3_600_000, limit: 10_000 },
    items: 10_000,
    expected: (rows) => rows.reduce((sum, row) => sum + Number(row["count"]), 0),
    buffers: 1.5,
    rows: 4,
  }),
  planCase({
    name: "read the 20 attempts of a node",
    statement: readAttempts,
    params: { bucket: 0, runId: runIdOf("keyed", 500), node: "noop", limit: 1_000 },
    items: SHAPES.recorded,
    expected: lengthOf,
    buffers: 5,
    rows: 5,
  }),
  planCase({
    name: "find 200 keyed runs",
    statement: findKeyedRuns,
    params: {
      bucket: 0,
      kind: "step",
      name: "noop",
      keys: countUp(1, 200).map((n) => `key-${n}`),
      inputs: countUp(1, 200).map(() => "1"),
    },
    items: 200,
    expected: lengthOf,
    buffers: 15,
    rows: 8,
  }),
];
