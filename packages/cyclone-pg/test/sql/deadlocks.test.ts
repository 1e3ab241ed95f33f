import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { compareLeases, leaseArrays } from "../../src/engine/lease.ts";
import { Discard, defineStep, defineWorkflow, type Future, Snooze } from "../../src/index.ts";
import { type ClaimedRow, claimSteps, type NothingClaimed } from "../../src/sql/claim/claim-steps.ts";
import { completeSteps } from "../../src/sql/complete/complete-steps.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { checkHistory, installAudit } from "../support/check-history.ts";
import { eventually } from "../support/eventually.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { claimOf } from "./plan-cases/claim-cases.ts";
import { loadVolume, NO_SHAPES, NO_VOLUME } from "./volume.ts";

// Four workers complete batches of the same runs, in which every node is connected with many. The server's log is looked through at
// the end of every test run as well.

const database = useTestDatabase();
const tables = tablesOf("public");
const WORKERS = 4;
const SEED = 20_261_130;

/** Numbers from 0 to 1 that are the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function deadlocks(): Promise<number> {
  const { rows } = await database.query<{ deadlocks: number }>(
    "select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()",
  );
  return rows[0]?.deadlocks ?? 0;
}

const faults = randomFrom(SEED);

/** Completes as a rule; now and then its attempt fails, it snoozes, or it is given up with all that is behind it. */
const work = defineStep("work", { backoff: 1, maxAttempts: 100 }, async (ctx, _input: unknown): Promise<string> => {
  const luck = faults();
  if (luck < 0.01) throw new Discard("given up");
  if (luck < 0.05) throw new Error("try again");
  if (luck < 0.07) throw new Snooze(1);
  return ctx.node;
});

const dag = defineWorkflow("dag", (b, seed: number) => {
  const random = randomFrom(seed);
  const nodes: Future<string>[] = [];
  for (let i = 3 + Math.floor(random() * 25); i > 0; i--) {
    const upstreams = nodes.filter(() => random() < 0.3);
    const after = nodes.filter(() => random() < 0.1);
    nodes.push(work.do(b, upstreams, { after }));
  }
});
const fan = defineWorkflow("fan", (b, width: number) => {
  const head = work.do(b, null);
  work.do(
    b,
    Array.from({ length: width }, () => work.do(b, head)),
  );
});
const layers = defineWorkflow("layers", (b, width: number) => {
  let layer: Future<string>[] = [];
  for (let i = 0; i < width; i++) layer = Array.from({ length: width }, () => work.do(b, [...layer]));
});

describe("four workers, and faults", () => {
  it("end every run, without a deadlock, and every count is right", { timeout: 180_000 }, async () => {
    await installAudit((text) => database.query(text));
    const producer = testClient(database);
    const inputs = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);
    await dag.submitMany(producer, inputs(60));
    await fan.submitMany(
      producer,
      inputs(8).map(() => 100),
    );
    await layers.submitMany(
      producer,
      inputs(8).map(() => 10),
    );
    const handlers = [work, dag, fan, layers];
    for (let i = 0; i < WORKERS; i++) await testWorker(database, handlers, { concurrency: 25, leaseTtl: "2s" });
    const stop = new AbortController();
    const cutting = cutConnections(stop.signal);
    await delay(3_000); // faults for a while; then they stop, and everything must come to its end
    stop.abort();
    await cutting;
    await eventually(async () => {
      const { rows } = await database.query("select count(*)::int as open from cyclone_runs where state = 'running'");
      expect(rows).toEqual([{ open: 0 }]);
    }, 120_000);
    expect(await checkHistory(database.url, { mode: "liveness" })).toEqual([]);
    expect(await deadlocks()).toBe(0);
  });
});

/** Ends sessions of the workers in the middle of what they do. */
async function cutConnections(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await database.query(
      `select pg_terminate_backend(pid) from (
         select pid from pg_stat_activity
         where datname = current_database() and application_name in ('cyclone record', 'cyclone claim') order by random() limit 1
       ) one`,
    );
    await delay(150);
  }
}

describe("four sessions that complete crossing batches of hot runs, each batch now and then twice", () => {
  it("never deadlock, and each node is completed once", { timeout: 120_000 }, async () => {
    await database.query("truncate cyclone_runs, cyclone_steps, cyclone_deps, cyclone_attempts");
    await loadVolume((text) => database.query(text), NO_VOLUME, {
      ...NO_SHAPES,
      layers: { runs: 12, width: 16 },
      joins: { runs: 4, width: 100 },
    });
    await database.query(
      "update cyclone_steps set state = 'available', lease_owner = null, lease_expiry = null, available_at = now() where state = 'running'",
    );
    const before = await deadlocks();
    await Promise.all(Array.from({ length: WORKERS }, (_, i) => completeAll(randomFrom(SEED + i))));
    const { rows } = await database.query(
      `select (select count(*) from cyclone_runs where state <> 'completed' or remaining <> 0)::int as open,
         (select count(*) from cyclone_steps where state <> 'completed' or pending <> 0)::int as incomplete,
         (select count(*) from cyclone_steps where attempts > 1)::int as twice`,
    );
    expect(rows).toEqual([{ open: 0, incomplete: 0, twice: 0 }]);
    expect((await deadlocks()) - before).toBe(0);
  });
});

async function completeAll(random: () => number): Promise<void> {
  const session = new Client({ connectionString: database.url });
  await session.connect();
  try {
    for (let empty = 0; empty < 20; ) {
      const limit = 1 + Math.floor(random() * 60);
      const answer = await session.query<ClaimedRow | NothingClaimed>(
        claimSteps.text(tables),
        claimSteps.params(claimOf(limit)),
      );
      const rows = answer.rows.filter((row) => row.run_id !== null);
      empty = rows.length === 0 ? empty + 1 : 0;
      if (rows.length === 0)
        await delay(20); // what the others hold may still activate something
      else await complete(session, rows, random() < 0.3 ? 2 : 1);
    }
  } finally {
    await session.end();
  }
}

async function complete(session: Client, rows: readonly ClaimedRow[], times: number): Promise<void> {
  const leases = rows
    .map((row) => ({ bucket: 0, runId: row.run_id, key: row.key, item: row.item, epoch: row.epoch }))
    .sort(compareLeases);
  const params = { ...leaseArrays(leases), outputs: leases.map(() => "1"), committed: leases.map(() => false) };
  for (let i = 0; i < times; i++) {
    const result = await session.query(completeSteps.text(tables), completeSteps.params(params));
    expect(result.rows[0].done?.length ?? 0).toBe(i === 0 ? rows.length : 0);
  }
}
