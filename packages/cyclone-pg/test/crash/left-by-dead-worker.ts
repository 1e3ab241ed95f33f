import type { Run } from "../../src/index.ts";
import type { CrashWorld } from "./crash-world.ts";
import { startByDeadWorker } from "./dead-worker.ts";

// What a worker leaves that is never heard of again, and what must become of it: where transitions of the sweep begin.

/** A job that is leased. @param leaseMs until it may be reclaimed */
export function leftRunning(world: CrashWorld, leaseMs: number): Promise<Run<unknown>> {
  const { double } = world.scenarios;
  return startByDeadWorker(world, {
    start: (options) => double.enqueue(world.producer, 4, options),
    step: double.name,
    leaseMs,
  });
}

/** A job whose lease runs out at once: another worker reclaims it. */
export async function leftToReclaim(world: CrashWorld): Promise<void> {
  const run = await leftRunning(world, 1);
  world.expect({ run: run.id, state: "completed", output: { value: 8 } });
}

/** A node that may not be reclaimed: it is discarded, and its run fails. */
export async function leftExhausted(world: CrashWorld): Promise<void> {
  const { fragile, fragileChain } = world.scenarios;
  const run = await startByDeadWorker(world, {
    start: (options) => fragileChain.submit(world.producer, 4, options),
    step: fragile.name,
    leaseMs: 1,
  });
  world.expect({ run: run.id, state: "failed" });
}
