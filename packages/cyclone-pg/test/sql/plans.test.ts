import { beforeAll, describe, expect, it } from "vitest";
import type { PlanMode } from "../support/plan-gate.ts";
import { limitsOf, planCases, problemsOf } from "./plan-cases.ts";
import { usePlannedDatabase } from "./planned-database.ts";
import { MOMENTS, type Moment } from "./statistics-moments.ts";
import { loadVolume } from "./volume.ts";

// Statistics of a queue are always those of another moment. Each statement must cost the same with all of them, in tables that are
// full of rows that it mustn't read: as the engine sends it, and with either kind of plan of a prepared one.

const planned = usePlannedDatabase((client) =>
  loadVolume((text) => client.query(text), {
    finished: 200_000,
    scheduled: 50_000,
    unknown: 20_000,
    available: 20_000,
    blocked: 20_000,
  }),
);

/**
 * A custom plan is made as that of an unnamed statement is, so that two moments are enough for it. A generic one that was made when
 * the tables were next to empty reads all of them later: the reason why nothing is prepared under a name.
 */
function modesAt(moment: Moment): readonly PlanMode[] {
  if (moment === "hollow") return ["one-shot"];
  return moment === "fresh" || moment === "restored" ? ["one-shot", "custom", "generic"] : ["one-shot", "generic"];
}

const cases = planCases().map((planCase) => [planCase.name, planCase] as const);

describe("R44: each case does its work, in tables full of what it mustn't read", () => {
  it.each(cases)("%s", async (_, { text, values, expected, items }) => {
    const { client } = planned;
    await client.query("begin");
    try {
      const { rows } = await client.query(text, [...values]);
      expect(expected(rows)).toBe(items);
    } finally {
      await client.query("rollback");
    }
  });
});

describe.each(Object.keys(MOMENTS) as Moment[])("with statistics of: %s", (moment) => {
  beforeAll(() => planned.moments.adopt(moment), 60_000);

  it.each(cases)(`(${MOMENTS[moment]}) %s`, async (_, planCase) => {
    const problems: string[] = [];
    for (const mode of modesAt(moment)) {
      problems.push(...(await problemsOf(planned.client, mode, planCase, limitsOf(planCase))));
    }
    expect(problems).toEqual([]);
  });
});
