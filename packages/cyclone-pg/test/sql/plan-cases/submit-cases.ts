import type { DepRow, RunRow, StepRow, SubmitParams } from "../../../src/sql/submit/rows.ts";
import { submitKeyedRuns } from "../../../src/sql/submit/submit-keyed-runs.ts";
import { submitRuns } from "../../../src/sql/submit/submit-runs.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { countUp } from "./leases.ts";

const idOf = (n: number): string => `01900000-0000-7000-8fff-${n.toString(16).padStart(12, "0")}`;

function run(n: number, nodes: number, key: string | null): RunRow {
  const kind = nodes === 1 ? "step" : "workflow";
  return {
    id: idOf(n),
    kind,
    name: "new",
    remaining: nodes,
    resultKey: nodes - 1,
    resultNode: `n${nodes - 1}`,
    resultPath: [],
    input: "1",
    tags: null,
    idempotencyKey: key,
    priority: null,
    failFast: null,
    retentionMs: null,
    deadlineAfterMs: null,
    deadlineAt: null,
    queue: null,
    traceparent: null,
  };
}

function step(n: number, key: number, pending: number, downs: number[] | null): StepRow {
  return {
    runId: idOf(n),
    key,
    node: `n${key}`,
    step: "new",
    kind: "step",
    queue: "default",
    priority: 0,
    pending,
    maxAttempts: 25,
    maxReclaims: 10,
    timeoutMs: null,
    traceparent: null,
    hasDeadline: null,
    downs,
    refs: null,
    refPaths: null,
    input: "1",
  };
}

function jobs(count: number, keyed: boolean): SubmitParams {
  const places = countUp(1, count);
  return {
    bucket: 0,
    runs: places.map((n) => run(n, 1, keyed ? `new-${n}` : null)),
    steps: places.map((n) => step(n, 0, 0, null)),
    deps: [],
    delayMs: null,
    startAt: null,
  };
}

/** Runs of three layers of ten, each node an upstream of each of the next layer. */
function layered(count: number): SubmitParams {
  const keys = countUp(0, 30);
  const next = (key: number): number[] => (key < 20 ? countUp((Math.floor(key / 10) + 1) * 10, 10) : []);
  const places = countUp(1, count);
  const dep = (n: number, upstreamKey: number, nodeKey: number): DepRow => ({
    runId: idOf(n),
    upstreamKey,
    nodeKey,
    node: `n${nodeKey}`,
    upstream: `n${upstreamKey}`,
    data: true,
  });
  return {
    bucket: 0,
    runs: places.map((n) => run(n, 30, null)),
    steps: places.flatMap((n) => keys.map((key) => step(n, key, key < 10 ? 0 : 10, key < 20 ? next(key) : null))),
    deps: places.flatMap((n) => keys.flatMap((key) => next(key).map((down) => dep(n, key, down)))),
    delayMs: null,
    startAt: null,
  };
}

export const submitCases = (): readonly PlanCase[] => [
  planCase({
    name: "submit 200 jobs",
    statement: submitRuns,
    params: jobs(200, false),
    items: 400,
    expected: (rows) => Number(rows[0]?.["inserted"]) * 2,
    buffers: 25,
    rows: 5,
  }),
  planCase({
    name: "submit 1 job",
    statement: submitRuns,
    params: jobs(1, false),
    items: 2,
    expected: (rows) => Number(rows[0]?.["inserted"]) * 2,
    buffers: 25,
    rows: 5,
  }),
  planCase({
    name: "submit 10 runs of 30 nodes and 200 edges",
    statement: submitRuns,
    params: layered(10),
    items: 2_310,
    expected: (rows) => Number(rows[0]?.["inserted"]) * 231,
    buffers: 25,
    rows: 5,
  }),
  planCase({
    name: "submit 200 keyed jobs",
    statement: submitKeyedRuns,
    params: jobs(200, true),
    items: 400,
    expected: (rows) => rows.length * 2,
    buffers: 30,
    rows: 8,
  }),
];
