import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { useFixture } from "../support/fixture.ts";
import { spawnFixture } from "../support/process.ts";
import { testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { span } from "./spans.ts";

const database = useTestDatabase();
const program = useFixture(join(import.meta.dirname, "fixtures/churning-worker.ts"));

const PROCESSES = 5;
const SECONDS = span(15, 180);

it("R41: five processes that trim beside completions, cancels, retries and submits leave no orphan and meet no deadlock", {
  timeout: SECONDS * 1_000 + 120_000,
}, async () => {
  const processes = Array.from({ length: PROCESSES }, () => spawnFixture(program.path, [database.url]));
  for (const one of processes) await one.waitForLine(/^up$/, 60_000);
  await wait(SECONDS * 1_000);
  for (const one of processes) one.send("stop");
  const ends = await Promise.all(
    processes.map(async (one) => ({ ...(await one.ended), errors: one.errorOutput, said: one.lines.at(-1) ?? "" })),
  );
  expect(ends).toEqual(ends.map(({ said }) => ({ status: 0, signal: null, errors: "", said })));
  const counts = ends.map(({ said }) => JSON.parse(said.replace("done ", "")) as Record<string, number>);
  const sum = (what: string): number => counts.reduce((total, one) => total + (one[what] ?? 0), 0);
  const done = { submitted: sum("submitted"), cancelled: sum("cancelled"), retried: sum("retried") };
  console.log(`${PROCESSES} processes in ${SECONDS} s: ${JSON.stringify(done)}`);
  // Else there was no race.
  expect(Math.min(done.submitted, done.cancelled, done.retried)).toBeGreaterThan(span(PROCESSES, SECONDS));

  // What is left has ended, and is trimmed by the last worker: then nothing at all is left.
  await testWorker(database, [defineStep("other", () => {})], { retention: 0 });
  await eventually(async () => {
    const { rows } = await database.query(`
      select (select count(*)::int from cyclone_runs) as runs, (select count(*)::int from cyclone_steps) as steps,
        (select count(*)::int from cyclone_deps) as deps, (select count(*)::int from cyclone_attempts) as attempts`);
    expect(rows).toEqual([{ runs: 0, steps: 0, deps: 0, attempts: 0 }]);
  }, 60_000);
  const { rows } = await database.query(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  );
  expect(rows).toEqual([{ deadlocks: 0 }]);
});
