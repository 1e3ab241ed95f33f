import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { defineAction } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { FixtureProcess, spawnFixture } from "../support/process.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const program = join(import.meta.dirname, "fixtures/stopping-worker.mjs");
const slow = defineAction("slow", () => {});

beforeAll(() => database.query("create table effects (run_id uuid)"));

const effectsOf = async (runId: string): Promise<number> => {
  const { rows } = await database.query("select 1 from effects where run_id = $1", [runId]);
  return rows.length;
};

/** Two jobs for one slot: one is being called when the signal comes, the other must not be called any more. */
async function expectOrderlyEnd(running: FixtureProcess, signal: () => void): Promise<void> {
  const producer = testClient(database);
  const jobs = [await slow.enqueue(producer, undefined, { priority: 1 }), await slow.enqueue(producer)];
  await running.waitForLine(/^called$/);
  signal();
  await running.waitForLine(/^stopping$/);
  signal();
  expect(await running.ended).toEqual({ status: 0, signal: null });
  const said = running.lines.filter((line) => !line.startsWith("up"));
  const order = [
    "called",
    "stopping",
    "stopping",
    "handler ended",
    "completed",
    "stopped",
    "stopped",
    "pool still open",
  ];
  expect(said).toEqual(order);
  const [first, second] = jobs.map((job) => job.id) as [string, string];
  expect(await stepRow(database, first)).toMatchObject({ state: "completed", attempts: 1, reclaims: 0 });
  expect(await stepRow(database, second)).toMatchObject({ state: "available", lease_epoch: 0 });
  expect([await effectsOf(first), await effectsOf(second)]).toEqual([1, 0]);
  await database.query("delete from cyclone_steps where run_id = any($1::uuid[])", [[first, second]]);
}

describe("R37: a worker process that gets SIGTERM, and SIGTERM again, while a handler runs", () => {
  it("claims no more, ends the handler, commits its completion, leaves the user's Pool open, and ends by itself", async () => {
    const running = spawnFixture(program, [database.url, "public"]);
    const up = await running.waitForLine(/^up/);
    await expectOrderlyEnd(running, () => process.kill(Number(up.split(" ")[1]), "SIGTERM"));
  });

  const namespaces = spawnSync("unshare", ["--pid", "--fork", "true"]).status === 0;
  it.skipIf(!namespaces)("does the same as process 1 of a container", async () => {
    const inside = ["--pid", "--fork", "--kill-child", process.execPath, program, database.url, "public"];
    const running = new FixtureProcess(spawn("unshare", inside, { stdio: ["pipe", "pipe", "pipe"] }));
    onTestFinished(() => running.kill());
    expect(await running.waitForLine(/^up/)).toBe("up 1");
    const child = Number(spawnSync("pgrep", ["-P", String(running.pid)], { encoding: "utf8" }).stdout.trim());
    await expectOrderlyEnd(running, () => process.kill(child, "SIGTERM"));
  });
});
