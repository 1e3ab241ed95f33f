import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CrashProxy, startCrashProxy } from "../support/crash-proxy.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { readHistory } from "../support/history.ts";
import { CrashWorld } from "./crash-world.ts";

let world: CrashWorld;
let proxy: CrashProxy;

beforeEach(async () => {
  world = await CrashWorld.open();
  proxy = await startCrashProxy({ target: world.database.url });
  await world.standingWorker(proxy.url);
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
  await proxy.close();
});

const isCommit = (text: string, _connection: unknown, transaction: readonly string[]): boolean =>
  /^commit/i.test(text) && transaction.includes("complete_own_row");

/** How often handlers were called, and what the ledger holds. */
async function effects(runId: string): Promise<{ calls: number; epochs: number[] }> {
  const { events } = readHistory(world.historyPath);
  const { rows } = await world.database.query<{ epoch: number }>("select epoch from ledger where run_id = $1", [runId]);
  const calls = events.filter((event) => event.type === "start" && event.run === runId).length;
  return { calls, epochs: rows.map((row) => row.epoch) };
}

/** Completed at the first call: nothing of it was an interruption, nothing was done twice, and the worker knew it. */
async function expectCountedOnce(runId: string): Promise<void> {
  await world.runsEnd("the worker");
  expect(world.logged.filter((message) => message.startsWith("Lease lost"))).toEqual([]);
  expect(await stepRow(world.database, runId)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1, output: 3 });
  expect(await attemptRows(world.database, runId)).toEqual([]);
  expect(await effects(runId)).toEqual({ calls: 1, epochs: [1] });
  expect(await world.check()).toEqual([]);
}

/** The first call was an interruption: uncharged, counted as a reclaim, and made up for by a second. */
async function expectInterruptedOnce(runId: string): Promise<void> {
  await world.runsEnd("the worker");
  expect(await stepRow(world.database, runId)).toMatchObject({ attempts: 1, reclaims: 1, lease_epoch: 2, output: 3 });
  const attempts = await attemptRows(world.database, runId);
  expect(attempts.map(({ outcome, attempt, epoch }) => ({ outcome, attempt, epoch }))).toEqual([
    { outcome: "interrupted", attempt: 1, epoch: 1 },
  ]);
  expect(await effects(runId)).toEqual({ calls: 2, epochs: [2] });
  expect(await world.check()).toEqual([]);
}

describe("a COMMIT whose reply is lost is looked up", () => {
  it("and counted once if it had been carried out", async () => {
    const armed = proxy.arm({ point: 1, side: "after", only: isCommit });
    const job = await world.scenarios.book.enqueue(world.producer, 3);
    await armed.reached;
    await expectCountedOnce(job.id);
  });

  it("and is an interruption if it had not", async () => {
    const armed = proxy.arm({ point: 1, side: "before", only: isCommit });
    const job = await world.scenarios.book.enqueue(world.producer, 3);
    await armed.reached;
    await expectInterruptedOnce(job.id);
  });
});

describe("while a COMMIT is still under way nothing is decided", () => {
  /** Holds the first COMMIT before the server until the worker has given up on it and asked twice what came of it. */
  async function inDoubt(): Promise<{ runId: string; backend: number; release: () => void }> {
    const held = proxy.arm({ point: 1, side: "before", only: isCommit, hold: true });
    const job = await world.scenarios.book.enqueue(world.producer, 3);
    await held.reached;
    const { rows } = await world.database.query<{ pid: number }>(
      `select l.pid from pg_locks l join pg_stat_activity a using (pid)
       where l.relation = 'ledger'::regclass and a.state = 'idle in transaction'`,
    );
    const asked = new Set<string>();
    await eventually(async () => {
      const { rows } = await world.database.query<{ at: string }>(
        "select query_start::text as at from pg_stat_activity where datname = current_database() and query like '/* cyclone:look_up_completion */%'",
      );
      for (const { at } of rows) asked.add(at);
      expect(asked.size).toBeGreaterThanOrEqual(2);
    });
    expect(await stepRow(world.database, job.id)).toMatchObject({ state: "running", lease_epoch: 1 });
    return { runId: job.id, backend: rows[0]?.pid ?? 0, release: () => held.release() };
  }

  it("and the completion counts once when it comes through", async () => {
    const { runId, release } = await inDoubt();
    release();
    await expectCountedOnce(runId);
  });

  it("and it is an interruption when the server gives the transaction up", async () => {
    const { runId, backend, release } = await inDoubt();
    await world.database.query("select pg_terminate_backend($1)", [backend]);
    release();
    await expectInterruptedOnce(runId);
  });
});
