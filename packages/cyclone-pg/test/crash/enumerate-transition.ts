import type { ClientOptions } from "../../src/index.ts";
import { type CrashReport, enumerateCrashPoints } from "../support/enumerate-crash-points.ts";
import type { CrashRecord } from "./crash-record.ts";
import { CASE_LIMIT_MS, CrashWorld } from "./crash-world.ts";

export interface WorkerTransition {
  readonly transition: string;
  /** The labels of the transition's points; the worker's others (idle polls, notifications) have cases of their own. */
  readonly points: RegExp;
  /** Brings rows, uncut, to where the transition begins, and says what must become of them. */
  readonly given: (world: CrashWorld) => Promise<void>;
  /**
   * What makes the transition, if it isn't a standing worker that goes on until the runs have ended. What it leaves, a clean
   * worker finishes.
   */
  readonly work?: (world: CrashWorld, url: string) => Promise<void>;
  /** What is wrong besides what the checker knows. */
  readonly check?: (world: CrashWorld) => Promise<readonly string[]>;
  readonly worker?: Partial<ClientOptions>;
}

/**
 * Cuts a worker's connections at each point of a transition, by label and on both sides. The worker goes on, over all cases, and
 * must get the runs to their end by itself; what it left, a clean worker would finish; then the checker looks.
 */
export async function enumerateTransition(options: WorkerTransition, record: CrashRecord): Promise<CrashReport> {
  await using world = await CrashWorld.open();
  const { transition, points, given, work, check, worker } = options;
  const report = await enumerateCrashPoints({
    transition,
    target: world.database.url,
    limitMs: CASE_LIMIT_MS,
    by: "label",
    only: record.counting(points),
    coverage: record.coverage,
    operation: async (url) => {
      await given(world);
      if (work !== undefined) return work(world, url);
      await world.standingWorker(url, worker);
      await world.runsEnd("the worker whose connection was cut");
    },
    recover: () => world.finish(),
    check: async () => [...(await world.check()), ...((await check?.(world)) ?? [])],
  });
  await record.addMoves(world);
  return report;
}
