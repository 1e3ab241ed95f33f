import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defineAction } from "../../src/index.ts";
import { checkHistory, createLedger, installAudit } from "../support/check-history.ts";
import { eventually } from "../support/eventually.ts";
import { useFixture } from "../support/fixture.ts";
import { History } from "../support/history.ts";
import { type FixtureProcess, spawnFixture } from "../support/process.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const worker = useFixture(join(import.meta.dirname, "fixtures/ledger-worker.ts"));

const JOBS = 300;
const KILLS = 10;
const WORKERS = 3;

function historyFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "history.jsonl");
}

async function finished(): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "select count(*)::int as n from cyclone_runs where state <> 'running'",
  );
  return rows[0]?.n ?? 0;
}

it("kill -9 of ten workers amid 300 jobs with a completionTx: each ledger row is written exactly once, and no attempt is charged", {
  timeout: 240_000,
}, async () => {
  const query = (text: string) => database.query(text);
  await installAudit(query);
  await createLedger(query);
  const file = historyFile();
  const history = new History(file);
  const client = testClient(database);
  const write = defineAction("write", { maxReclaims: 50 }, () => {});
  await Promise.all(
    Array.from({ length: JOBS }, (_, i) =>
      history.operation("submit", { key: `job-${i}` }, async () => {
        const run = await write.enqueue(client, undefined, { idempotencyKey: `job-${i}` });
        return { run: run.id };
      }),
    ),
  );

  const start = (): FixtureProcess => spawnFixture(worker.path, [database.url, file]);
  const workers = Array.from({ length: WORKERS }, start);
  for (let kill = 1; kill <= KILLS; kill++) {
    // At a point of progress, not of time; and while this worker has a row written that isn't committed.
    await eventually(async () => expect(await finished()).toBeGreaterThanOrEqual((kill * JOBS) / (KILLS + 2)), 90_000);
    const victim = workers.shift() as FixtureProcess;
    const written = victim.lines.length;
    await eventually(() => expect(victim.lines.length).toBeGreaterThan(written));
    await victim.kill("SIGKILL");
    workers.push(start());
  }
  expect(await finished()).toBeLessThan(JOBS);
  await eventually(async () => expect(await finished()).toBe(JOBS), 90_000);
  for (const one of workers) one.send("stop");
  expect(await Promise.all(workers.map((one) => one.ended))).toEqual(workers.map(() => ({ status: 0, signal: null })));

  const { rows } = await query(
    `select count(*)::int as jobs, min(attempts) as least, max(attempts) as most, max(reclaims) as reclaims,
       sum(lease_epoch - 1)::int as lost, count(*) filter (where lease_epoch <> reclaims + 1)::int as uncounted
     from cyclone_steps where state = 'completed'`,
  );
  expect(rows[0]).toMatchObject({ jobs: JOBS, least: 1, most: 1, uncounted: 0 });
  // Each kill loses at most what the worker was calling; each loses something, since it was amid a call.
  expect(rows[0]?.["lost"]).toBeGreaterThanOrEqual(KILLS);
  expect(rows[0]?.["lost"]).toBeLessThanOrEqual(KILLS * 12);
  expect(rows[0]?.["reclaims"]).toBeLessThanOrEqual(KILLS);
  history.close();
  expect(await checkHistory(database.url, { mode: "liveness", history: file, ledger: { table: "ledger" } })).toEqual(
    [],
  );
});
