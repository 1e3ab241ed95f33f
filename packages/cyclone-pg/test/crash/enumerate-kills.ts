import { type CrashReport, enumerateCrashPoints } from "../support/enumerate-crash-points.ts";
import type { CrashRecord } from "./crash-record.ts";
import { CrashVictims } from "./crash-victims.ts";
import { CASE_LIMIT_MS, CrashWorld } from "./crash-world.ts";
import type { WorkerTransition } from "./enumerate-transition.ts";

/**
 * Kills a worker's process at each point of a transition, before and after the server has executed it. A clean worker then
 * finishes what it left; the dead one's leases are made to run out, so that nobody has to wait for it.
 */
export async function enumerateKills(
  options: Pick<WorkerTransition, "transition" | "points" | "given">,
  fixture: string,
  record: CrashRecord,
): Promise<CrashReport> {
  await using world = await CrashWorld.open();
  await using victims = new CrashVictims(world, fixture);
  const { transition, points, given } = options;
  const report = await enumerateCrashPoints({
    transition,
    target: world.database.url,
    limitMs: CASE_LIMIT_MS,
    by: "label",
    only: record.counting(points),
    coverage: record.coverage,
    kill: () => victims.pid,
    operation: async (url) => {
      const victim = await victims.working(url);
      await given(world);
      const dead = new AbortController();
      void victim.ended.then(() => dead.abort());
      await world.runsEnd("a process that wasn't killed", dead.signal);
    },
    recover: async () => {
      await world.expireLeases();
      await world.finish();
    },
    check: () => world.check(),
  });
  await record.addMoves(world);
  return report;
}
