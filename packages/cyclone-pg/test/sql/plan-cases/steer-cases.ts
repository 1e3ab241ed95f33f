import { readLostLeases } from "../../../src/sql/lease/read-lost-leases.ts";
import { endRuns } from "../../../src/sql/steer/end-runs.ts";
import { findOverdueRuns } from "../../../src/sql/steer/find-overdue-runs.ts";
import { findUncountedNodes } from "../../../src/sql/steer/find-uncounted-nodes.ts";
import { retryRun } from "../../../src/sql/steer/retry-run.ts";
import { trimRuns } from "../../../src/sql/sweep/trim-runs.ts";
import { trimRunsByOwnRetention } from "../../../src/sql/sweep/trim-runs-by-own-retention.ts";
import { TRIM_START } from "../../../src/sql/sweep/trim-text.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { type Group, runIdOf, SHAPES } from "../volume.ts";

/** No call of the volume's has failed. */
const EMPTY = ["cyclone_attempts"];

const idsOf = (group: Group, runs: number): string[] => Array.from({ length: runs }, (_, i) => runIdOf(group, i + 1));

function endCase(
  name: string,
  group: Group,
  runs: number,
  nodes: number,
  state: "cancelled" | "failed" = "cancelled",
): PlanCase {
  return planCase({
    name,
    statement: endRuns,
    params: { bucket: 0, runIds: idsOf(group, runs), state, reason: "no longer wanted", error: '{"name": "Error"}' },
    items: runs * nodes,
    expected: (rows) => rows[0]?.["cancelled"],
    buffers: 55,
    rows: 30,
  });
}

export const steerCases = (): readonly PlanCase[] => [
  endCase("cancel 1 job", "available", 1, 1),
  endCase("cancel 200 jobs", "available", 200, 1),
  endCase("cancel 200 jobs that run", "running", 200, 1),
  endCase("cancel a fan of 5,000", "wide", 1, SHAPES.wide.width + 2),
  endCase("cancel 20 chains of 100", "deep", SHAPES.deep.runs, SHAPES.deep.length),
  endCase("fail 100 overdue jobs", "overdue", 100, 1, "failed"),
  planCase({
    name: "find 100 overdue runs",
    statement: findOverdueRuns,
    params: { bucket: 0, limit: 100, excluded: [] },
    items: 100,
    expected: (rows) => rows.length,
    buffers: 3,
    rows: 2,
  }),
  planCase({
    name: "retry a fan of 5,000",
    statement: retryRun,
    params: { bucket: 0, runId: runIdOf("cancelled", 1) },
    items: SHAPES.cancelled.width + 1,
    expected: (rows) => Number(rows[0]?.["available"]) + 1,
    buffers: 40,
    rows: 30,
  }),
  planCase({
    name: "find what isn't counted of a run of 5,000",
    statement: findUncountedNodes,
    params: { bucket: 0, runId: runIdOf("wide", 1) },
    items: SHAPES.wide.width,
    expected: (rows) => rows.length + SHAPES.wide.width,
    buffers: 3,
    rows: 2,
  }),
  planCase({
    name: "read why 200 leases are lost",
    statement: readLostLeases,
    params: { bucket: 0, runIds: idsOf("running", 200) },
    items: 200,
    expected: (rows) => rows.length,
    buffers: 6,
    rows: 4,
  }),
  planCase({
    name: "trim 200 of the oldest",
    statement: trimRuns,
    params: { bucket: 0, retentionMs: 0, limit: 200, after: TRIM_START },
    items: 200,
    expected: (rows) => rows[0]?.["seen"],
    buffers: 60,
    rows: 20,
    seqScans: EMPTY,
  }),
  planCase({
    name: "trim where no run has a retention of its own",
    statement: trimRunsByOwnRetention,
    params: { bucket: 0, retentionMs: 0, limit: 500, after: TRIM_START },
    items: 1,
    expected: () => 1,
    buffers: 3,
    rows: 2,
    seqScans: EMPTY,
  }),
];
