import { completeOwnRow } from "../../../src/sql/complete/complete-own-row.ts";
import { completeSteps } from "../../../src/sql/complete/complete-steps.ts";
import { lookUpCompletion } from "../../../src/sql/complete/look-up-completion.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { type Group, runIdOf, SHAPES } from "../volume.ts";
import { countUp, leasesOf } from "./leases.ts";

type Rows = readonly Record<string, unknown>[];

/** Completes nodes of a group; `follow` are the downstream rows that count down. */
export function completeCase(
  name: string,
  group: Group,
  runs: number,
  keys: readonly number[],
  follow: number,
  activated: number,
  committed = false,
): PlanCase {
  const leases = leasesOf(group, runs, keys);
  const own = leases.runIds.length;
  return planCase({
    name,
    statement: completeSteps,
    params: {
      ...leases,
      outputs: leases.runIds.map(() => '"an output"'),
      committed: leases.runIds.map(() => committed),
    },
    items: own + follow + runs,
    expected: (rows: Rows) => {
      const done = (rows[0]?.["done"] as unknown[] | null)?.length ?? 0;
      return done === own && rows[0]?.["activated"] === activated
        ? own + follow + runs
        : `${done} of ${own}, ${String(rows[0]?.["activated"])} activated`;
    },
    buffers: 30,
    rows: 12,
  });
}

export const completeCases = (): readonly PlanCase[] => {
  const { chains, heads, joins, wide, layers } = SHAPES;
  const one = { bucket: 0, runId: runIdOf("running", 1), key: 0, item: 0 };
  return [
    completeCase("complete 200 jobs", "running", 200, [0], 0, 0),
    completeCase("complete 1 job", "running", 1, [0], 0, 0),
    completeCase("complete 200 of chains", "chains", 200, [0], 200, 200),
    completeCase("complete 1 of a chain", "chains", 1, [0], 1, 1),
    completeCase(
      "complete the heads of 40 fans of 100",
      "heads",
      heads.runs,
      [0],
      heads.runs * heads.width,
      heads.runs * heads.width,
    ),
    completeCase("complete the head of a fan of 5,000", "wide", wide.runs, [0], wide.width, wide.width),
    completeCase("complete 200 of 10 fan-ins", "joins", joins.runs, countUp(1, 20), joins.runs, 0),
    completeCase("complete 10 fan-ins of 100", "joins", joins.runs, countUp(1, joins.width), joins.runs, joins.runs),
    completeCase(
      "complete 20 layers of 10",
      "layers",
      layers.runs,
      countUp(0, layers.width),
      layers.runs * layers.width,
      layers.runs * layers.width,
    ),
    completeCase("complete 200 that a completionTx committed", "unactivated", 200, [0], 0, 0, true),
    planCase({
      name: "complete a row inside a completionTx",
      statement: completeOwnRow,
      params: { ...one, epoch: 1, output: "1", token: null },
      items: 1,
      expected: (rows) => rows.length,
      buffers: 30,
      rows: 5,
    }),
    planCase({
      name: "look a completion up",
      statement: lookUpCompletion,
      params: one,
      items: 1,
      expected: (rows) => rows.length,
      buffers: 10,
      rows: 3,
    }),
    // Runs whose nodes complete in part only are the larger number; what was measured is not the end of a run alone.
    completeCase("complete 300 ends of chains' heads", "chains", chains.runs, [0], chains.runs, chains.runs),
  ];
};
