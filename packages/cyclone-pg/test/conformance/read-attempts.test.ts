import { describe, expect, it } from "vitest";
import { Discard, defineStep, defineWorkflow, RetryAfter, Snooze } from "../../src/index.ts";
import { expireLeases } from "../support/engine-rows.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const steady = defineStep("steady", async () => 1);

describe("node(name).attempts()", () => {
  it("tells of each call that didn't complete its node, oldest first, and not of the one that did", async () => {
    const moody = defineStep("moody", async (ctx) => {
      if (ctx.snoozes === 0) throw new Snooze(1);
      if (ctx.attempt < 3) throw new RetryAfter(1, { message: `attempt ${ctx.attempt}` });
      return "in the end";
    });
    const around = defineWorkflow("around", (b) => moody.do(b, undefined, { after: [steady.do(b)] }));
    const client = await testWorker(database, [steady, moody]);
    const run = await around.submit(client);
    expect(await run.result()).toBe("in the end");
    const attempts = await testClient(database).run(run.id).node("moody").attempts();
    const { rows } = await database.query<{ worker: string; near: boolean }>(
      `select worker, bool_and(finished_at > statement_timestamp() - interval '1 minute') as near
       from cyclone_attempts where run_id = $1 group by worker`,
      [run.id],
    );
    expect(rows).toEqual([{ worker: expect.any(String), near: true }]);
    const call = { worker: rows[0]?.worker, startedAt: expect.any(Date), finishedAt: expect.any(Date) };
    const error = (message: string) => expect.objectContaining({ name: "RetryAfter", message });
    expect(attempts).toEqual([
      { ...call, epoch: 1, attempt: 1, outcome: "snoozed", error: null },
      { ...call, epoch: 2, attempt: 1, outcome: "failed", error: error("attempt 1") },
      { ...call, epoch: 3, attempt: 2, outcome: "failed", error: error("attempt 2") },
    ]);
    for (const { startedAt, finishedAt } of attempts)
      expect(Number(finishedAt)).toBeGreaterThanOrEqual(Number(startedAt));
    expect(await run.node("steady").attempts()).toEqual([]);
  });

  it("tells of calls that were reclaimed, with the worker that had lost them", async () => {
    const gate = latch();
    const held = defineStep("held", async (ctx) => (ctx.reclaims === 0 ? gate.opened : undefined));
    const lost = await testWorker(database, [held], { leaseTtl: "1h", pollInterval: "1h" });
    const job = await held.enqueue(lost);
    await eventually(async () => expect(await job.node("held").state()).toBe("running"));
    await testWorker(database, [held], { leaseTtl: "1s" });
    await expireLeases(database, job.id);
    await job.wait();
    expect(await job.node("held").attempts()).toEqual([
      expect.objectContaining({ attempt: 1, epoch: 1, outcome: "reclaimed", worker: expect.any(String), error: null }),
    ]);
    gate.open();
  });

  it("gives a readable error for whatever was thrown", async () => {
    const circular: Record<string, unknown> = { name: "circular" };
    circular["self"] = circular;
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no access");
        },
      },
    );
    const thrown = [undefined, null, 0, "a text", Symbol("s"), circular, hostile, () => "f", new Discard("no use")];
    const throws = defineStep("throws", { maxAttempts: 1 }, async (_ctx, i: number) => {
      throw thrown[i];
    });
    const client = await testWorker(database, [throws]);
    const jobs = await throws.enqueueMany(
      client,
      thrown.map((_, i) => i),
    );
    await Promise.all(jobs.map((job) => job.wait()));
    for (const job of jobs) {
      const attempts = await job.node("throws").attempts();
      expect(attempts).toHaveLength(1);
      expect(attempts[0]?.error?.name).toMatch(/./);
      expect(attempts[0]?.error?.message).toEqual(expect.any(String));
    }
  });

  it("gives the newest thousand of a node that has more", async () => {
    const job = await steady.enqueue(testClient(database), undefined, { delay: "1h" });
    await database.query(
      `insert into cyclone_attempts (bucket, run_id, key, epoch, attempt, outcome)
       select s.bucket, s.run_id, s.key, n, 1, 'snoozed' from cyclone_steps s cross join generate_series(1, 1200) n where s.run_id = $1`,
      [job.id],
    );
    const attempts = await job.node("steady").attempts();
    expect(attempts.map(({ epoch }) => epoch)).toEqual(Array.from({ length: 1_000 }, (_, i) => 201 + i));
    expect(attempts[0]).toMatchObject({ worker: null, startedAt: null });
  });

  it("says which node or run there isn't", async () => {
    const client = testClient(database);
    const job = await steady.enqueue(client, undefined, { delay: "1h" });
    await expect(job.node("nope").attempts()).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    const unknown = client.run("01890000-0000-7000-8000-000000000000");
    await expect(unknown.node("steady").attempts()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
  });
});
