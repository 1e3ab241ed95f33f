import { describe, expect, inject, it } from "vitest";
import { createClient, Discard, defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { recordingLog, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const quick = defineStep("quick", async (_ctx, n: number) => n);
const unlucky = defineStep("unlucky", async (): Promise<void> => {
  throw new Discard("no luck");
});

describe("queues.list() and stats()", () => {
  const database = useTestDatabase();

  it("say nothing of an empty database but which queues this client claims from", async () => {
    const client = testClient(database, { handlers: [quick], queues: { default: 3, mail: 1 } });
    const none = { paused: false, available: 0, scheduled: 0, running: 0, oldestAvailableMs: null, capped: false };
    expect(await client.queues.list()).toEqual([
      { name: "default", ...none },
      { name: "mail", ...none },
    ]);
    expect(await client.stats()).toEqual({
      running: 0,
      byQueue: {},
      steps: [],
      oldestAvailableMs: null,
      recentRuns: { running: 0, completed: 0, failed: 0, cancelled: 0, windowMs: 3_600_000, capped: false },
      capped: false,
    });
  });

  it("count what is available, scheduled and running, by queue and by step, and tell the age of the oldest", async () => {
    const gate = latch();
    const slow = defineStep("slow", { queue: "busy" }, async () => gate.opened);
    const idle = defineStep("idle", async () => {});
    await testWorker(database, [slow, quick, unlucky], { queues: { busy: 2, default: 1 } });
    const producer = testClient(database);
    const held = await slow.enqueueMany(producer, [undefined, undefined, undefined]);
    await eventually(async () => expect((await producer.stats()).running).toBe(2));
    await quick.enqueueMany(producer, [1, 2], { delay: "1h" });
    const lonely = [
      await idle.enqueue(producer),
      await idle.enqueue(producer, undefined, { queue: "__proto__", priority: 5 }),
    ];
    await database.query(
      "update cyclone_steps set available_at = statement_timestamp() - interval '90 seconds' where run_id = $1",
      [lonely[0]?.id],
    );
    await (await quick.enqueue(producer, 1)).wait();
    await (await unlucky.enqueue(producer)).wait();
    await producer.queues.pause("later");

    const queues = await producer.queues.list();
    const some = { paused: false, available: 0, scheduled: 0, running: 0, oldestAvailableMs: null, capped: false };
    const age = { oldestAvailableMs: expect.any(Number) };
    expect(queues).toEqual([
      { name: "__proto__", ...some, available: 1, ...age },
      { name: "busy", ...some, available: 1, running: 2, ...age },
      { name: "default", ...some, available: 1, scheduled: 2, ...age },
      { name: "later", ...some, paused: true },
    ]);
    expect(queues[2]?.oldestAvailableMs).toBeGreaterThanOrEqual(90_000);
    expect(queues[2]?.oldestAvailableMs).toBeLessThan(150_000);

    const stats = await producer.stats();
    expect(stats).toMatchObject({ running: 2, capped: false });
    expect(stats.oldestAvailableMs).toBeGreaterThanOrEqual(90_000);
    expect(Object.entries(stats.byQueue).sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ["__proto__", { available: 1 }],
      ["busy", { available: 1, running: 2 }],
      ["default", { available: 1, scheduled: 2 }],
    ]);
    const byName = [...stats.steps].sort((a, b) => `${a.step}/${a.queue}`.localeCompare(`${b.step}/${b.queue}`));
    expect(
      byName.map(({ step, queue, available, scheduled, running }) => [step, queue, available, scheduled, running]),
    ).toEqual([
      ["idle", "__proto__", 1, 0, 0],
      ["idle", "default", 1, 0, 0],
      ["quick", "default", 0, 2, 0],
      ["slow", "busy", 1, 0, 2],
    ]);
    expect(stats.recentRuns).toEqual({
      running: 7,
      completed: 1,
      failed: 1,
      cancelled: 0,
      windowMs: 3_600_000,
      capped: false,
    });
    gate.open();
    await Promise.all(held.map((job) => job.wait()));
  });
});

describe("counts of more than can be counted", () => {
  const database = useTestDatabase();

  it("stop, say so, and leave out no queue", async () => {
    await database.query(
      `insert into cyclone_steps (bucket, run_id, key, node, step, kind, state, queue, available_at)
       select n / 6 % $1::int, gen_random_uuid(), 0, 'node', 'step-' || n % 3, 'step', (case when n % 2 = 0 then 'available' else 'scheduled' end)::cyclone_step_state,
         case when n % 1000 = 0 then 'z-small' else 'crowded' end, now() from generate_series(1, 240000) n`,
      [inject("postgres").bucketCount],
    );
    await using client = createClient({ connection: database.url, log: recordingLog().log });
    const queues = await client.queues.list();
    expect(queues.map(({ name, capped }) => [name, capped])).toEqual([
      ["crowded", true],
      ["z-small", false],
    ]);
    expect(queues[1]?.available).toBe(240);
    for (const state of ["available", "scheduled"] as const) {
      expect(queues[0]?.[state]).toBeGreaterThanOrEqual(45_000);
      expect(queues[0]?.[state]).toBeLessThanOrEqual(100_000);
    }
    expect((await client.stats()).capped).toBe(true);
  });
});
