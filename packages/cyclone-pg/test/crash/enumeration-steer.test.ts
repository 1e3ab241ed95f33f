import { describe, expect, it } from "vitest";
import { createClient, type Run } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { recordingLog } from "../support/test-client.ts";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";
import type { CrashWorld } from "./crash-world.ts";
import { enumerateTransition, type WorkerTransition } from "./enumerate-transition.ts";
import { leftRunning } from "./left-by-dead-worker.ts";

const record = new CrashRecord();

/** Runs whose nodes are blocked, delayed, available and running. */
async function inEachState(world: CrashWorld): Promise<Run<unknown>[]> {
  const { chain } = world.scenarios;
  return [
    await chain.submit(world.producer, 3, { delay: "1h" }),
    await chain.submit(world.producer, 3),
    await leftRunning(world, 60_000),
  ];
}

/** By way of the proxy, each until it is acknowledged. */
async function steer(
  world: CrashWorld,
  url: string,
  operation: "cancel" | "retry",
  runs: readonly Run<unknown>[],
): Promise<void> {
  const client = createClient({ connection: url, log: recordingLog().log, listen: false });
  try {
    for (const { id } of runs) {
      await world.history.operation(operation, { run: id }, async () => {
        await client.run(id)[operation]();
        return {};
      });
    }
  } finally {
    await client.stop();
  }
}

/** What `given` has started, for `work`. */
let runs: readonly Run<unknown>[] = [];

async function untilTrimmed(world: CrashWorld): Promise<void> {
  await eventually(async () => {
    const { rows } = await world.database.query("select 1 from cyclone_runs where id = any ($1::uuid[])", [
      runs.map((run) => run.id),
    ]);
    expect(rows).toEqual([]);
  });
}

const orphans = async (world: CrashWorld): Promise<string[]> => {
  const { rows } = await world.database.query<{ n: number }>(
    "select count(*)::int as n from cyclone_steps s where not exists (select from cyclone_runs r where r.id = s.run_id)",
  );
  return rows[0]?.n === 0 ? [] : [`${rows[0]?.n} nodes without a run`];
};

const transitions: readonly WorkerTransition[] = [
  {
    transition: "cancel",
    points: /^end_runs/,
    given: async (world) => {
      runs = await inEachState(world);
      for (const run of runs) world.expect({ run: run.id, state: "cancelled" });
    },
    work: (world, url) => steer(world, url, "cancel", runs),
  },
  {
    transition: "retry",
    points: /^retry_run/,
    given: async (world) => {
      const failed = await world.scenarios.fragileChain.submit(world.producer, 4, { delay: "1h" });
      runs = [failed, ...(await inEachState(world))];
      for (const run of runs) await run.cancel();
      // One whose first node was discarded, as discard_steps leaves it.
      await world.database.query(
        "update cyclone_steps set state = 'discarded', error = '{}' where run_id = $1 and key = 0",
        [failed.id],
      );
      await world.database.query("update cyclone_runs set state = 'failed', failed = 1, error = '{}' where id = $1", [
        failed.id,
      ]);
      await world.database.query("delete from test_audit");
      for (const run of runs) world.expect({ run: run.id, state: "completed" });
    },
    work: (world, url) => steer(world, url, "retry", runs),
  },
  {
    transition: "fail by a deadline",
    points: /^(find_overdue_runs|end_runs)/,
    given: async (world) => {
      const run = await world.scenarios.chain.submit(world.producer, 3, { deadline: "20ms", delay: "1h" });
      world.expect({ run: run.id, state: "failed" });
    },
  },
  {
    transition: "trim",
    points: /^trim_runs(?!_by)/,
    given: async (world) => {
      runs = [await world.scenarios.chain.submit(world.producer, 3, { delay: "1h" })];
      for (const run of runs) await run.cancel();
    },
    work: (world, url) => world.withWorker(url, { retention: 0 }, () => untilTrimmed(world)),
    check: orphans,
  },
  {
    transition: "trim by a run's own retention",
    points: /^trim_runs_by_own_retention/,
    given: async (world) => {
      runs = [await world.scenarios.chain.submit(world.producer, 3, { delay: "1h", retention: 0 })];
      for (const run of runs) await run.cancel();
    },
    work: (world, url) => world.withWorker(url, { retention: "1s" }, () => untilTrimmed(world)),
    check: orphans,
  },
];

describe("what a cancel, a retry, a deadline or a trim does is done once, wherever it is cut", {
  timeout: 600_000,
}, () => {
  for (const transition of transitions) {
    it(transition.transition, async () => {
      const report = await enumerateTransition(transition, record);
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.steer)).toEqual([]);
});
