import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { defineStep, type Run } from "../../src/index.ts";
import { createLedger } from "../support/check-history.ts";
import { expireLeases, stepRow } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { useFixture } from "../support/fixture.ts";
import { type Latch, latch } from "../support/latch.ts";
import { type FixtureProcess, spawnFixture } from "../support/process.ts";
import { eventsOf, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const zombieWorker = useFixture(join(import.meta.dirname, "fixtures/zombie-worker.ts"));

beforeAll(() => createLedger((text) => database.query(text)));

const ledgerOf = async (runId: string): Promise<number[]> => {
  const { rows } = await database.query<{ epoch: number }>("select epoch from ledger where run_id = $1", [runId]);
  return rows.map((row) => row.epoch);
};

/** The same steps as the fixture's, by a worker that lives. */
const healthyPay = defineStep("pay", async (ctx) => {
  const tx = await ctx.completionTx();
  await tx.query("insert into ledger (run_id, node, epoch) values ($1, $2, 2)", [ctx.runId, ctx.node]);
  return "healthy";
});
const healthyNote = (gate: Latch, entered: Latch) =>
  defineStep("note", async () => {
    entered.open();
    await gate.opened;
    return "healthy";
  });
const producedPay = defineStep("pay", () => "");
const producedNote = defineStep("note", () => "");

interface Stopped {
  readonly zombie: FixtureProcess;
  readonly note: Run<string>;
  readonly pay: Run<string>;
}

/** A worker process that is stopped by SIGSTOP in the middle of a plain call and of one with an open completionTx. */
async function stoppedWorker(): Promise<Stopped> {
  const zombie = spawnFixture(zombieWorker.path, [database.url]);
  await zombie.waitForLine(/^up$/);
  const producer = testClient(database);
  const [note, pay] = [await producedNote.enqueue(producer), await producedPay.enqueue(producer)];
  await zombie.waitForLine(/^entered note$/);
  await zombie.waitForLine(/^entered pay$/);
  await zombie.kill("SIGSTOP");
  return { zombie, note, pay };
}

/** Lets it go on, straight into the end of its calls. */
async function wake(zombie: FixtureProcess): Promise<void> {
  zombie.send("finish");
  await zombie.kill("SIGCONT");
  await zombie.waitForLine(/^lost note$/);
  await zombie.waitForLine(/^lost pay$/);
}

describe("R20: a worker that was stopped for longer than its lease (SIGSTOP, then SIGCONT)", () => {
  it("can't commit what another worker has completed meanwhile, plain or with a completionTx, and goes on with other work", async () => {
    const { zombie, note, pay } = await stoppedWorker();
    const gate = latch();
    gate.open();
    const healthy = await testWorker(database, [healthyNote(gate, latch()), healthyPay], { leaseTtl: "1s" });
    expect([await note.result(), await pay.result()]).toEqual(["healthy", "healthy"]);
    const before = [await stepRow(database, note.id), await stepRow(database, pay.id)];
    expect(before).toMatchObject([
      { state: "completed", output: "healthy", attempts: 1, reclaims: 1, lease_epoch: 2 },
      { state: "completed", output: "healthy", attempts: 1, reclaims: 1, lease_epoch: 2 },
    ]);
    await healthy.stop();

    await wake(zombie);
    expect([await stepRow(database, note.id), await stepRow(database, pay.id)]).toEqual(before);
    expect(await ledgerOf(pay.id)).toEqual([2]);

    const next = await producedNote.enqueue(testClient(database));
    await zombie.waitForLine(new RegExp(`^completed note ${next.id}$`));
    expect(await next.result()).toBe("zombie");
    expect(zombie.lines.filter((line) => line.startsWith("completed"))).toEqual([`completed note ${next.id}`]);
  });

  it("can't commit, nor keep alive, what another worker is calling meanwhile, and its signal fires", async () => {
    const { zombie, note, pay } = await stoppedWorker();
    const [gate, entered] = [latch(), latch()];
    const healthy = await testWorker(database, [healthyNote(gate, entered), healthyPay], { leaseTtl: "1s" });
    await entered.opened;
    await pay.result();
    const owner = (await stepRow(database, note.id)).lease_owner;

    await wake(zombie);
    expect(await stepRow(database, note.id)).toMatchObject({ state: "running", lease_epoch: 2, lease_owner: owner });
    gate.open();
    expect(await note.result()).toBe("healthy");
    expect(await stepRow(database, note.id)).toMatchObject({ attempts: 1, reclaims: 1, lease_epoch: 2 });
    expect(await ledgerOf(pay.id)).toEqual([2]);
    await healthy.stop();
  });

  it("learns by its signal that the lease is lost, while its handler still runs", async () => {
    const { zombie, note, pay } = await stoppedWorker();
    const gate = latch();
    gate.open();
    const healthy = await testWorker(database, [healthyNote(gate, latch()), healthyPay], { leaseTtl: "1s" });
    await Promise.all([note.result(), pay.result()]);
    await healthy.stop();
    await zombie.kill("SIGCONT");
    await zombie.waitForLine(/^aborted note CYCLONE_LEASE_LOST$/);
    await zombie.waitForLine(/^lost pay$/);
    zombie.send("finish");
  });
});

describe("two slots of one process", () => {
  it("are told apart by the epoch: the call that lost its lease can't commit for the one that has it now", async () => {
    // The owner renews every 10 s, so that it doesn't notice before its first call ends.
    const gates = [latch(), latch()];
    const entered = [latch(), latch()];
    const twice = defineStep("twice", async (ctx) => {
      const call = ctx.reclaims;
      const tx = await ctx.completionTx();
      await tx.query("insert into ledger (run_id, node, epoch) values ($1, $2, $3)", [ctx.runId, ctx.node, call + 1]);
      entered[call]?.open();
      await gates[call]?.opened;
      return `call ${call + 1}`;
    });
    const plain = defineStep("plain", async (ctx) => {
      const call = ctx.reclaims;
      plainEntered[call]?.open();
      await plainGates[call]?.opened;
      return `call ${call + 1}`;
    });
    const plainGates = [latch(), latch()];
    const plainEntered = [latch(), latch()];
    const owner = await testWorker(database, [twice, plain], { leaseTtl: "30s", concurrency: 4 });
    const lost = eventsOf(owner, "lease.lost");
    const jobs = [await twice.enqueue(owner), await plain.enqueue(owner)];
    await Promise.all([entered[0]?.opened, plainEntered[0]?.opened]);

    // A neighbour without these handlers sweeps; the owner's second slots take both steps again.
    const sweeper = await testWorker(database, [defineStep("other", () => {})], { leaseTtl: "1s" });
    for (const job of jobs) await expireLeases(database, job.id);
    await Promise.all([entered[1]?.opened, plainEntered[1]?.opened]);
    await sweeper.stop();
    const untouched = { state: "running", lease_epoch: 2, attempts: 0, reclaims: 1, output: null };
    expect(await Promise.all(jobs.map((job) => stepRow(database, job.id)))).toMatchObject([untouched, untouched]);

    gates[0]?.open();
    plainGates[0]?.open();
    await eventually(() => expect(lost.map(({ step }) => step).sort()).toEqual(["plain", "twice"]));
    expect(await Promise.all(jobs.map((job) => stepRow(database, job.id)))).toMatchObject([untouched, untouched]);
    expect(await ledgerOf(jobs[0]?.id ?? "")).toEqual([]);

    gates[1]?.open();
    plainGates[1]?.open();
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(["call 2", "call 2"]);
    expect(await ledgerOf(jobs[0]?.id ?? "")).toEqual([2]);
  });
});
