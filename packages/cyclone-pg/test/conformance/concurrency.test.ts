import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { recordingLog, testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Counts how many calls are under way, and how many ever were at once. */
function gauge() {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  return {
    now: (key: string) => now.get(key) ?? 0,
    most: (key: string) => most.get(key) ?? 0,
    async hold(key: string, work: () => Promise<unknown>): Promise<void> {
      now.set(key, (now.get(key) ?? 0) + 1);
      most.set(key, Math.max(most.get(key) ?? 0, now.get(key) ?? 0));
      try {
        await work();
      } finally {
        now.set(key, (now.get(key) ?? 0) - 1);
      }
    },
  };
}

const runningOf = async (step: string): Promise<number> => {
  const { rows } = await database.query<{ count: string }>(
    "select count(*) from cyclone_steps where step = $1 and state = 'running'",
    [step],
  );
  return Number(rows[0]?.count);
};

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("concurrency", () => {
  it("bounds how many handlers run at once, and claims nothing beyond it", async () => {
    const gate = latch();
    const count = gauge();
    const held = defineStep("held", async () => count.hold("all", () => gate.opened));
    const client = await testWorker(database, [held], { concurrency: 3 });
    const jobs = await held.enqueueMany(
      client,
      Array.from({ length: 20 }, () => undefined),
    );
    await eventually(() => expect(count.now("all")).toBe(3));
    expect(await runningOf("held")).toBe(3);
    const other = await testWorker(database, [held], { concurrency: 4 });
    // What the first can't start at once is free for others.
    await eventually(() => expect(count.now("all")).toBe(7));
    expect(await runningOf("held")).toBe(7);
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    expect(count.most("all")).toBe(7);
    await other.stop();
  });

  it("is 10 where nothing else is said", async () => {
    const gate = latch();
    const count = gauge();
    const ten = defineStep("ten", async () => count.hold("all", () => gate.opened));
    const client = await testWorker(database, [ten]);
    const jobs = await ten.enqueueMany(
      client,
      Array.from({ length: 30 }, () => undefined),
    );
    await eventually(() => expect(count.now("all")).toBe(10));
    expect(await runningOf("ten")).toBe(10);
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    expect(count.most("all")).toBe(10);
  });

  it("keeps the other slots busy while one handler takes its time", async () => {
    const gate = latch();
    const slow = defineStep("slow", async () => gate.opened);
    const quick = defineStep("quick", async () => turn());
    const client = await testWorker(database, [slow, quick], { concurrency: 4 });
    const long = await slow.enqueue(client);
    await eventually(async () => expect(await runningOf("slow")).toBe(1));
    const jobs = await quick.enqueueMany(
      client,
      Array.from({ length: 200 }, () => undefined),
    );
    await Promise.all(jobs.map((job) => job.result()));
    expect(await long.state()).toBe("running");
    gate.open();
    await long.result();
  });
});

describe("the option queues", () => {
  it("names the queues to claim from, and bounds each of them", async () => {
    const gate = latch();
    const count = gauge();
    const any = defineStep("any", async (_ctx, queue: string) => count.hold(queue, () => gate.opened));
    const client = await testWorker(database, [any], { queues: { wide: 4, narrow: 1 } });
    const start = async (queue: string) =>
      any.enqueueMany(
        client,
        Array.from({ length: 8 }, () => queue),
        { queue },
      );
    const jobs = [...(await start("wide")), ...(await start("narrow"))];
    const foreign = await any.enqueue(client, "default");
    await eventually(() => expect([count.now("wide"), count.now("narrow")]).toEqual([4, 1]));
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    expect([count.most("wide"), count.most("narrow")]).toEqual([4, 1]);
    await client.drain();
    expect(await foreign.node("any").state()).toBe("available");
  });

  it("has the sum of its numbers as the whole concurrency, unless that is given too", async () => {
    const gate = latch();
    const count = gauge();
    const any = defineStep("any-sum", async () => count.hold("all", () => gate.opened));
    const client = await testWorker(database, [any], { queues: { "sum-a": 3, "sum-b": 3 }, concurrency: 4 });
    const jobs = (
      await Promise.all(
        ["sum-a", "sum-b"].map((queue) =>
          any.enqueueMany(
            client,
            Array.from({ length: 9 }, () => undefined),
            { queue },
          ),
        ),
      )
    ).flat();
    await eventually(() => expect(count.now("all")).toBe(4));
    gate.open();
    await Promise.all(jobs.map((job) => job.result()));
    expect(count.most("all")).toBe(4);
  });

  it("absent, means every queue of the handlers", async () => {
    const here = defineStep("here", { queue: "q1" }, async () => "q1");
    const there = defineStep("there", { queue: "q2" }, async () => "q2");
    const both = defineWorkflow("both", (b) => there.do(b, undefined, { after: [here.do(b)] }));
    const client = await testWorker(database, [here, there]);
    expect(await (await both.submit(client)).result()).toBe("q2");
  });

  it("is checked, as the other options are", () => {
    const refused = { code: "CYCLONE_INVALID_OPTION" };
    const make = (options: object) => () => testClient(database, options);
    const mistakes = [
      { queues: {} },
      { queues: { default: 0 } },
      { queues: { default: 10_001 } },
      { queues: { "": 1 } },
      { concurrency: 0 },
      { concurrency: 10_001 },
      { leaseTtl: "999ms" },
      { pollInterval: 49 },
      { maxConnections: 0 },
      { connection: "" },
      { connection: 5 },
      { schema: "pg_mine" },
      { schema: "information_schema" },
      { handlers: [{}] },
      { listen: "yes" },
    ];
    for (const mistake of mistakes)
      expect(make(mistake), JSON.stringify(mistake)).toThrowError(expect.objectContaining(refused));
    expect(make({ concurency: 3 })).toThrowError(/concurrency/);
  });
});

describe("the handlers of a client", () => {
  const log = recordingLog().log;

  it("are refused if two different ones have one name; steps and actions share theirs", () => {
    const one = defineStep("same", async () => {});
    const two = defineStep("same", async () => {});
    const refused = expect.objectContaining({ code: "CYCLONE_INVALID_OPTION" });
    expect(() => testClient(database, { handlers: [one, two], log })).toThrowError(refused);
    expect(() => testClient(database, { handlers: [one, one], log })).not.toThrow();
  });

  it("can't be contracts", () => {
    const contract = defineStep<string, number>("contract");
    const handlers = [contract] as never;
    expect(() => testClient(database, { handlers, log })).toThrowError(/implement/);
  });
});
