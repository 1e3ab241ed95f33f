import { type Client, createClient } from "../../src/index.ts";
import { type CrashReport, enumerateCrashPoints } from "../support/enumerate-crash-points.ts";
import { recordingLog } from "../support/test-client.ts";
import type { CrashRecord } from "./crash-record.ts";
import { CASE_LIMIT_MS, CrashWorld } from "./crash-world.ts";

/** One submit of a case. */
export interface Submitting {
  readonly world: CrashWorld;
  /** A producer by way of the proxy. */
  readonly client: Client;
  readonly url: string;
  /** For the runs' tags and keys: no other case has it. */
  readonly tag: string;
}

export interface SubmitTransition {
  readonly transition: string;
  /** Submits all runs of the case with the tag, and gives their ids. */
  readonly submit: (submitting: Submitting) => Promise<readonly string[]>;
  /** Whether the tag is the run's idempotency key. */
  readonly keyed?: boolean;
  /** What happens before, uncut. */
  readonly given?: (world: CrashWorld, tag: string) => Promise<void>;
  /** How many runs a submit makes: all of them, or none. @default 1 */
  readonly runs?: number;
  /** What is wrong besides, of a case whose submit made so many runs. */
  readonly check?: (world: CrashWorld, tag: string, made: number) => Promise<readonly string[]>;
}

/**
 * Cuts a submit at its first point, its second, and so on, on both sides. What was acknowledged must be there, whole and once;
 * what failed may be there whole, or not at all; and all that is there runs to its end.
 */
export async function enumerateSubmit(options: SubmitTransition, record: CrashRecord): Promise<CrashReport> {
  await using world = await CrashWorld.open();
  const { transition, submit, keyed = false, given, runs = 1, check } = options;
  // Not cut: it has nothing to gain from a short lease.
  await world.standingWorker(world.database.url, { leaseTtl: "30s", concurrency: 50 });
  let cases = 0;
  let tag = "";
  let acknowledged: readonly string[] | undefined;
  const report = await enumerateCrashPoints({
    transition,
    target: world.database.url,
    limitMs: CASE_LIMIT_MS,
    coverage: record.coverage,
    only: record.counting(/^/),
    operation: async (url) => {
      tag = `case-${++cases}`;
      acknowledged = undefined;
      await given?.(world, tag);
      const client = createClient({ connection: url, log: recordingLog().log });
      try {
        await world.history.operation("submit", keyed ? { key: tag } : {}, async () => {
          acknowledged = await submit({ world, client, url, tag });
          return { run: acknowledged[0] ?? "none" };
        });
      } finally {
        await client.stop();
      }
    },
    check: async () => {
      await world.runsEnd("a clean worker");
      const found = await runsOf(world, tag);
      const whole = found.length === runs || (found.length === 0 && acknowledged === undefined);
      const same = acknowledged === undefined || sorted(acknowledged).join() === sorted(found).join();
      return [
        ...(whole ? [] : [`${found.length} of ${runs} runs are there`]),
        ...(same ? [] : ["the runs aren't those that were acknowledged"]),
        ...(await world.check()),
        ...((await check?.(world, tag, found.length)) ?? []),
      ];
    },
  });
  await record.addMoves(world);
  return report;
}

async function runsOf(world: CrashWorld, tag: string): Promise<string[]> {
  const { rows } = await world.database.query<{ id: string }>("select id from cyclone_runs where $1 = any(tags)", [
    tag,
  ]);
  return rows.map((row) => row.id);
}

const sorted = (ids: readonly string[]): string[] => [...ids].sort();
