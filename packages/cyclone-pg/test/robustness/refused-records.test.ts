import { beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { openStage } from "../support/stage.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

beforeAll(async () => {
  // Fails a transition of named steps once, with a chosen error; the sequence isn't rolled back.
  await database.query("create sequence faults_left");
  await database.query(`
    create function fail_once() returns trigger language plpgsql as $$
    begin
      if nextval('faults_left') <= 1 then
        raise exception 'staged' using errcode = split_part(new.step, ' ', 2);
      end if;
      return new;
    end $$`);
  await database.query(
    "create trigger fail_once before update on cyclone_steps for each row when (new.step like 'fails %' and new.state in ('completed', 'scheduled') and old.state = 'running') execute function fail_once()",
  );
});

describe("R15: the write of an outcome fails once with an error that passes", () => {
  it.each([
    ["a deadlock", "40P01"],
    ["a serialization failure", "40001"],
    ["an administrator's shutdown", "57P01"],
    ["a connection failure", "08006"],
    ["a lack of connections", "53300"],
    ["a statement timeout", "57014"],
    ["a lock timeout", "55P03"],
  ])(
    "%s (%s): it is written again, the handler isn't called again, and others of the batch are recorded",
    async (_what, code) => {
      await database.query("select setval('faults_left', 1, false)");
      let calls = 0;
      const step = defineStep(`fails ${code}`, () => {
        calls += 1;
        return "recorded";
      });
      const neighbour = defineStep("neighbour", () => "fine");
      const producer = testClient(database);
      const jobs = [
        await step.enqueue(producer),
        ...(await neighbour.enqueueMany(producer, Array.from({ length: 5 }))),
      ];
      const worker = testClient(database, { handlers: [step, neighbour] });
      const errors = eventsOf(worker, "error");
      await worker.start();
      expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([
        "recorded",
        ...Array.from({ length: 5 }, () => "fine"),
      ]);
      const { rows } = await database.query("select last_value from faults_left");
      expect(Number(rows[0]?.last_value)).toBeGreaterThanOrEqual(2);
      expect(calls).toBe(1);
      for (const job of jobs)
        expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
      expect(errors).toEqual([]);
      await worker.stop();
    },
  );

  it("a failed attempt likewise: it is charged once", async () => {
    await database.query("select setval('faults_left', 1, false)");
    let calls = 0;
    const step = defineStep("fails 40P01 first", { backoff: "50ms" }, () => {
      calls += 1;
      if (calls === 1) throw new Error("the handler's own");
      return "recorded";
    });
    const worker = await testWorker(database, [step]);
    const job = await step.enqueue(worker);
    expect(await job.result()).toBe("recorded");
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 2, reclaims: 0, lease_epoch: 2 });
    expect(calls).toBe(2);
    await worker.stop();
  });

  it("a real deadlock with another session: the recorder's statement is its victim, and is written again", async () => {
    const gate = latch();
    let calls = 0;
    const step = defineStep("deadlocked", async () => {
      calls += 1;
      await gate.opened;
      return "recorded";
    });
    const connection = { connectionString: database.url, application_name: "staged-deadlock-worker" };
    const worker = testClient(database, { handlers: [step], connection, listen: false, leaseTtl: "30s" });
    await worker.start();
    const job = await step.enqueue(worker);
    await eventually(() => expect(calls).toBe(1));

    await using stage = await openStage(database.url, ["other"], { deadlock: true });
    const { other } = stage.sessions;
    // The other session never looks for deadlocks itself, so that the victim is the one that waited first.
    await other.query("set deadlock_timeout = '1min'");
    await other.query("begin");
    await other.query("select 1 from cyclone_runs where id = $1 for update", [job.id]);
    gate.open();
    await stage.waitForLock({ statement: "complete_steps" }, { heldBy: other });
    const crossing = other.start("select 1 from cyclone_steps where run_id = $1 for update", [job.id]);
    await crossing.result;
    await other.query("rollback");

    expect(await job.result()).toBe("recorded");
    expect(calls).toBe(1);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 1, reclaims: 0, lease_epoch: 1 });
    await worker.stop();
  });
});
