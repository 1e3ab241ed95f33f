import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { useFixture } from "../support/fixture.ts";
import { spawnFixture } from "../support/process.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const producer = useFixture(fileURLToPath(new URL("./fixtures/producer.ts", import.meta.url)));
const worker = useFixture(fileURLToPath(new URL("./fixtures/worker.ts", import.meta.url)));

const step = defineStep("fixture-step", async (_ctx, n: number) => n + 1);
const sessions = async (): Promise<unknown[]> => {
  const { rows } = await database.query(
    "select application_name from pg_stat_activity where datname = current_database() and application_name like 'cyclone%' and application_name <> 'cyclone-test'",
  );
  return rows;
};

/** Milliseconds from the program's word that it has stopped to its end. */
async function timeToEnd(program: ReturnType<typeof spawnFixture>): Promise<number> {
  await program.waitForLine(/^stopped$/);
  const at = performance.now();
  const end = await program.ended;
  expect(end, program.errorOutput).toEqual({ status: 0, signal: null });
  return performance.now() - at;
}

describe("a program that only produces", () => {
  it("ends by itself within a second of stop()", async () => {
    const program = spawnFixture(producer.path, [database.url, "submit"]);
    expect(await timeToEnd(program)).toBeLessThan(1_000);
    expect(program.lines[0]).toMatch(/^run: /);
  });

  it("ends by itself also after it has waited for a result", async () => {
    await testWorker(database, [step]);
    const program = spawnFixture(producer.path, [database.url, "wait"]);
    expect(await timeToEnd(program)).toBeLessThan(1_000);
    expect(program.lines).toContain("result: 2");
  });

  it("ends without an error when it stops while a submit is under way, which is done or refused", async () => {
    const program = spawnFixture(producer.path, [database.url, "in-flight"]);
    await program.waitForLine(/^stopped$/).catch(() => undefined);
    const end = await program.ended;
    const refused = /CYCLONE_CLIENT_STOPPED|has been stopped/.test(program.errorOutput);
    expect(end.status === 0 || refused, program.errorOutput).toBe(true);
    expect(end.signal).toBeNull();
  });

  it("can't start: it has no handlers", async () => {
    const program = spawnFixture(producer.path, [database.url, "start"]);
    expect(await timeToEnd(program)).toBeLessThan(1_000);
    expect(program.lines).toContain("start: CYCLONE_PRODUCER_ONLY");
    await expect(testClient(database).start()).rejects.toMatchObject({ code: "CYCLONE_PRODUCER_ONLY" });
  });

  it("sweeps nothing, renews nothing and listens to nothing as long as it waits for no result", async () => {
    const client = testClient(database);
    await step.enqueue(client, 1);
    const { rows } = await database.query(
      "select distinct application_name from pg_stat_activity where datname = current_database() and application_name like 'cyclone%' and application_name <> 'cyclone-test'",
    );
    expect(rows).toEqual([{ application_name: "cyclone" }]);
  });
});

describe("a worker process", () => {
  it("works, stops when it is told to, and ends by itself within a second, with nothing left of it", async () => {
    const program = spawnFixture(worker.path, [database.url]);
    await program.waitForLine(/^started$/);
    const client = testClient(database);
    expect(await (await step.enqueue(client, 41)).result()).toBe(42);
    await client.stop();
    program.send("stop");
    expect(await timeToEnd(program)).toBeLessThan(1_000);
    await eventually(async () => expect(await sessions()).toEqual([]));
  });

  it("that is killed leaves a step that another one calls again, no attempt charged", async () => {
    const job = await step.enqueue(testClient(database), -600_000);
    const victim = spawnFixture(worker.path, [database.url, '{"leaseTtl":"2s"}']);
    await victim.waitForLine(/^call -600000 1 0$/);
    await victim.kill("SIGKILL");
    await testWorker(database, [step], { leaseTtl: "2s" });
    expect(await job.result()).toBe(-599_999);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 1 });
    expect((await attemptRows(database, job.id)).map(({ outcome }) => outcome)).toEqual(["reclaimed"]);
  });

  it("that is frozen past its lease and woken can't complete what another one has done", async () => {
    const job = await step.enqueue(testClient(database), -2_000);
    const zombie = spawnFixture(worker.path, [database.url, '{"leaseTtl":"2s"}']);
    await zombie.waitForLine(/^call -2000 1 0$/);
    await zombie.kill("SIGSTOP");
    const other = defineStep("fixture-step", async () => 7);
    await testWorker(database, [other], { leaseTtl: "2s" });
    expect(await job.result()).toBe(7);
    const before = await stepRow(database, job.id);
    await zombie.kill("SIGCONT");
    // Its handler ends now, and stop() waits until what came of it is recorded, or refused.
    zombie.send("stop");
    expect(await timeToEnd(zombie)).toBeLessThan(30_000);
    expect(await stepRow(database, job.id)).toEqual(before);
    expect(before).toMatchObject({ output: 7, attempts: 1, reclaims: 1 });
  });

  it("whose handler kills it on every call is discarded after maxReclaims, and other work goes on", {
    timeout: 60_000,
  }, async () => {
    const contract = defineStep("fixture-deadly", { maxReclaims: 1 });
    const client = testClient(database);
    const job = await contract.enqueue(client);
    const options = '{"leaseTtl":"2s","concurrency":1}';
    for (const reclaims of [0, 1]) {
      const program = spawnFixture(worker.path, [database.url, options]);
      await program.waitForLine(new RegExp(`^deadly ${reclaims}$`));
      expect(await program.ended).toMatchObject({ signal: "SIGKILL" });
    }
    const last = spawnFixture(worker.path, [database.url, options]);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { code: "CYCLONE_MAX_RECLAIMS" } });
    expect(await stepRow(database, job.id)).toMatchObject({ state: "discarded", attempts: 0, reclaims: 1 });
    expect(await (await step.enqueue(client, 1)).result()).toBe(2);
    last.send("stop");
    await last.ended;
    expect(last.lines.filter((line) => line.startsWith("deadly"))).toEqual([]);
  });

  it("in which a rejection is left unhandled ends, as Node.js wants it; its steps are taken up again without a charge", {
    timeout: 60_000,
  }, async () => {
    const contract = defineStep("fixture-careless");
    const client = testClient(database);
    const neighbour = await step.enqueue(client, -600_000);
    const first = spawnFixture(worker.path, [database.url, '{"leaseTtl":"2s"}']);
    await first.waitForLine(/^call -600000 1 0$/);
    const job = await contract.enqueue(client);
    expect(await first.ended).toEqual({ status: 1, signal: null });
    expect(first.errorOutput).toContain("nobody waits for this");
    const other = defineStep("fixture-careless", async () => {});
    await testWorker(database, [step, other], { leaseTtl: "2s" });
    await Promise.all([job.result(), neighbour.result()]);
    for (const run of [job, neighbour])
      expect(await stepRow(database, run.id)).toMatchObject({ attempts: 1, reclaims: 1 });
  });
});
