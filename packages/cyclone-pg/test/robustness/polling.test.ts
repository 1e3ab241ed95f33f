import { expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

it("R48: without notifications the poll finds the work of every step in every queue that a worker serves, not only of the first", async () => {
  const steps = ["a", "b", "c"].flatMap((name) =>
    ["one", "two"].map((queue) => defineStep(`${name} in ${queue}`, { queue }, (ctx) => ctx.step)),
  );
  await testWorker(database, steps, { listen: false });
  const producer = testClient(database, { listen: false });
  // One after the other, so that no claim for one finds another by the way.
  for (const step of steps) {
    const job = await step.enqueue(producer);
    expect(await job.result({ signal: AbortSignal.timeout(5_000) })).toBe(step.name);
  }
});
