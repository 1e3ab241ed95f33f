import { discardSteps } from "../../../src/sql/fail/discard-steps.ts";
import { releaseSteps } from "../../../src/sql/fail/release-steps.ts";
import { renewLeases } from "../../../src/sql/lease/renew-leases.ts";
import { reportProgress } from "../../../src/sql/lease/report-progress.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { type Group, OWNER, SHAPES } from "../volume.ts";
import { leasesOf } from "./leases.ts";

const ERROR = '{"name": "Error", "message": "no"}';

function doneOf(rows: readonly Record<string, unknown>[]): number {
  return (rows[0]?.["done"] as unknown[] | null)?.length ?? 0;
}

/** Discards the first node of runs, which cancels `follow` nodes in each. */
export function discardCase(name: string, group: Group, runs: number, follow: number): PlanCase {
  const leases = leasesOf(group, runs);
  return planCase({
    name,
    statement: discardSteps,
    params: {
      ...leases,
      outcomes: leases.runIds.map(() => "failed" as const),
      errors: leases.runIds.map(() => ERROR),
      owner: OWNER,
    },
    items: runs * (follow + 2),
    expected: (rows) => doneOf(rows) + Number(rows[0]?.["cancelled"]) + runs,
    buffers: 40,
    rows: 30,
  });
}

export const failCases = (): readonly PlanCase[] => {
  const { heads, wide, deep } = SHAPES;
  const leases = leasesOf("running", 200);
  const each = <T>(value: T): T[] => leases.runIds.map(() => value);
  return [
    discardCase("discard 200 jobs", "running", 200, 0),
    discardCase("discard 1 job", "running", 1, 0),
    discardCase("discard the heads of 40 fans of 100", "heads", heads.runs, heads.width + 1),
    discardCase("discard the head of a fan of 5,000", "wide", wide.runs, wide.width + 1),
    discardCase("discard the heads of 20 chains of 100", "deep", deep.runs, deep.length - 1),
    planCase({
      name: "release 200 that failed",
      statement: releaseSteps,
      params: {
        ...leases,
        outcomes: each("failed" as const),
        delaysMs: each(1_000),
        errors: each(ERROR),
        owner: OWNER,
      },
      items: 200,
      expected: doneOf,
      buffers: 45,
      rows: 8,
    }),
    planCase({
      name: "renew 200 leases",
      statement: renewLeases,
      params: { ...leases, leaseMs: 30_000 },
      items: 200,
      expected: (rows) => (rows[0]?.["lost"] === null ? 200 : "some are lost"),
      buffers: 35,
      rows: 10,
    }),
    planCase({
      name: "report 200 progresses",
      statement: reportProgress,
      params: { ...leases, fractions: each(0.5), messages: each("half") },
      items: 200,
      expected: (rows) => rows[0]?.["reported"],
      buffers: 35,
      rows: 10,
    }),
  ];
};
