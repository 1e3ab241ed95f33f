import { describe, expect, it } from "vitest";
import { completeCase } from "../sql/plan-cases/complete-cases.ts";
import { discardCase } from "../sql/plan-cases/fail-cases.ts";
import { type PlanCase, problemsOf } from "../sql/plan-cases.ts";
import { usePlannedDatabase } from "../sql/planned-database.ts";
import { MOMENTS } from "../sql/statistics-moments.ts";
import { loadVolume, NO_SHAPES, NO_VOLUME, type Shapes } from "../sql/volume.ts";

// In a small table all plans look cheap, and it grows by the very statement that was planned: the first fan in a new database.

const planned = usePlannedDatabase();

const fills = [0, 300, 1_000, 3_000];

/**
 * Rows that a statement may handle apart from its items while the tables are this small: all of a table, or some pairs. Without the
 * migration's statistics 1,000 nodes may be compared with as many, which takes half a second; nothing larger than that.
 */
const ROWS_MAX = { installed: 50_000, empty: 50_000, hollow: 50_000, restored: 100_000 } as const;

const shapes: readonly { readonly name: string; readonly shapes: Shapes; readonly cases: readonly PlanCase[] }[] = [
  ...[10, 100, 1_000, 5_000].map((width) => ({
    name: `a fan of ${width}`,
    shapes: { ...NO_SHAPES, heads: { runs: 1, width } },
    cases: [completeCase("complete", "heads", 1, [0], width, width), discardCase("discard", "heads", 1, width + 1)],
  })),
  {
    name: "60 fans of 100",
    shapes: { ...NO_SHAPES, heads: { runs: 60, width: 100 } },
    cases: [completeCase("complete", "heads", 60, [0], 6_000, 6_000), discardCase("discard", "heads", 60, 101)],
  },
  {
    name: "200 chains of 3",
    shapes: { ...NO_SHAPES, chains: { runs: 200, length: 3 } },
    cases: [completeCase("complete", "chains", 200, [0], 200, 200), discardCase("discard", "chains", 200, 2)],
  },
  {
    name: "200 jobs",
    shapes: { ...NO_SHAPES, running: 200 },
    cases: [completeCase("complete", "running", 200, [0], 0, 0), discardCase("discard", "running", 200, 0)],
  },
];

describe.each(["installed", "empty", "hollow", "restored"] as const)("with statistics of: %s", (moment) => {
  it.each(fills.flatMap((fill) => shapes.map((shape) => [shape.name, fill, shape] as const)))(
    `(${MOMENTS[moment]}) %s among %i finished jobs`,
    async (_, fill, shape) => {
      const { client, moments } = planned;
      await client.query("truncate cyclone_runs, cyclone_steps, cyclone_deps, cyclone_attempts");
      await moments.adopt(moment);
      await loadVolume((text) => client.query(text), { ...NO_VOLUME, finished: fill }, shape.shapes);
      const problems: string[] = [];
      for (const planCase of shape.cases) {
        const limits = {
          buffers: 1_000 + planCase.buffers * planCase.items,
          rowsRead: ROWS_MAX[moment] + 60 * planCase.items,
          executionMs: 2_000,
          plannedCost: 20_000,
          seqScans: ["cyclone_runs", "cyclone_steps", "cyclone_deps"],
          sortedRows: 10_000 + 3 * planCase.items,
        };
        problems.push(...(await problemsOf(client, "one-shot", planCase, limits)));
      }
      expect(problems).toEqual([]);
    },
  );
});
