import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { type Latch, latch } from "../support/latch.ts";
import { type Outage, useOwnServer } from "../support/own-server.ts";
import { eventsOf, testWorker } from "../support/test-client.ts";

const server = useOwnServer();

const LEASE_MS = 1_200;
const options = { leaseTtl: LEASE_MS, concurrency: 4, maxConnections: 8 };

interface Held {
  readonly entered: Latch;
  readonly gate: Latch;
  calls: number;
}

const held = (): Held => ({ entered: latch(), gate: latch(), calls: 0 });

const heldStep = (name: string, state: Held) =>
  defineStep(name, async () => {
    state.calls += 1;
    state.entered.open();
    await state.gate.opened;
    return "outlived it";
  });

const stepsOf = (names: readonly string[]): Promise<Record<string, unknown>[]> =>
  server.query(
    "select step, state::text as state, attempts, reclaims, lease_epoch from cyclone_steps where step = any($1) order by step",
    [names],
  );

describe("R14: Postgres is away for more than three leases", () => {
  it.each<[what: string, how: Outage]>([
    ["stopped fast", "fast"],
    ["stopped immediately", "immediate"],
    ["killed with -9", "kill"],
  ])(
    "%s: no live handler is reclaimed, nothing is charged, and the workers go on by themselves",
    async (_what, how) => {
      const [slow, slower] = [held(), held()];
      const names = [`slow-${how}`, `slower-${how}`, `quick-${how}`];
      const slowStep = heldStep(names[0] ?? "", slow);
      const slowerStep = heldStep(names[1] ?? "", slower);
      const quick = defineStep(names[2] ?? "", () => "done");
      const first = await testWorker(server, [slowStep, quick], options);
      const second = await testWorker(server, [slowerStep, quick], options);
      const reclaimed = [first, second].map((worker) => eventsOf(worker, "step.reclaimed"));
      const jobs = [await slowStep.enqueue(first), await slowerStep.enqueue(second)];
      await Promise.all([slow.entered.opened, slower.entered.opened]);

      await server.stop(how);
      // One handler ends in the middle of the outage, the other outlives it.
      slow.gate.open();
      await wait(3 * LEASE_MS + 200);
      await server.start();
      const up = performance.now();

      const job = await eventually(() => quick.enqueue(first));
      expect(await job.result()).toBe("done");
      const recoveryMs = performance.now() - up;
      expect(recoveryMs).toBeLessThan(5_000);
      expect(await jobs[0]?.result()).toBe("outlived it");
      // Long enough for any sweep to take what isn't renewed.
      await wait(1.2 * LEASE_MS);
      slower.gate.open();
      expect(await jobs[1]?.result()).toBe("outlived it");

      const once = { state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1 };
      expect(await stepsOf(names)).toEqual(
        ["quick", "slow", "slower"].map((name) => ({ step: `${name}-${how}`, ...once })),
      );
      expect([slow.calls, slower.calls]).toEqual([1, 1]);
      expect(reclaimed).toEqual([[], []]);
      await Promise.all([first.stop(), second.stop()]);
    },
  );
});
