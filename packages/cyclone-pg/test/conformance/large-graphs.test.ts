import { describe, expect, it } from "vitest";
import { Discard, defineStep, defineWorkflow, type Node } from "../../src/index.ts";
import { testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const give = defineStep("give", async (_ctx, n: number) => n);
const follow = defineStep("follow", async () => {});
const sum = defineStep("sum", async (_ctx, numbers: number[]) => numbers.reduce((a, b) => a + b, 0));
const bad = defineStep("bad", async () => {
  throw new Discard("at the head");
});

const countByState = async (runId: string) => {
  const { rows } = await database.query<{ state: string; count: number }>(
    "select state::text, count(*)::int as count from cyclone_steps where run_id = $1 group by state",
    [runId],
  );
  return Object.fromEntries(rows.map((row) => [row.state, row.count]));
};

describe("a run of 10,000 nodes", () => {
  it("as a chain whose head is discarded is cancelled down to its end, by one transition", {
    timeout: 120_000,
  }, async () => {
    const client = await testWorker(database, [bad, follow]);
    const chain = defineWorkflow("chain", (b, length: number) => {
      let last: Node = bad.do(b);
      for (let i = 1; i < length; i++) last = follow.do(b, undefined, { after: [last] });
    });
    const run = await chain.submit(client, 10_000);
    expect(await run.wait()).toMatchObject({ state: "failed", error: { message: "at the head" } });
    expect(await countByState(run.id)).toEqual({ discarded: 1, cancelled: 9_999 });
    const { rows } = await database.query(
      "select count(distinct finished_at)::int as moments from cyclone_steps where run_id = $1 and state = 'cancelled'",
      [run.id],
    );
    expect(rows).toEqual([{ moments: 1 }]);
    expect(await run.nodes()).toHaveLength(10_000);
    expect((await run.graph()).edges).toHaveLength(9_999);
  });

  it("as a layer whose outputs all go into one node gives that node all of them, in their order", {
    timeout: 120_000,
  }, async () => {
    const client = await testWorker(database, [give, sum], { concurrency: 200, pollInterval: "1s" });
    const fan = defineWorkflow("fan", (b, width: number) =>
      sum.do(
        b,
        Array.from({ length: width }, (_, n) => give.do(b, n)),
      ),
    );
    const run = await fan.submit(client, 10_000);
    expect(await run.result()).toBe((9_999 * 10_000) / 2);
    expect(await countByState(run.id)).toEqual({ completed: 10_001 });
  });
});
