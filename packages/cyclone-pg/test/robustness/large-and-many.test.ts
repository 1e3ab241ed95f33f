import pg from "pg";
import { describe, expect, it } from "vitest";
import { channelOf } from "../../src/db/channel.ts";
import { defineStep } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

describe("R47: notifications don't depend on what is submitted", () => {
  it("inputs of a megabyte, queues of 63 bytes of several each, 50,000 jobs in one transaction: one small notification", async () => {
    const queues = ["é".repeat(31) + "q", "名".repeat(21), "😀".repeat(15) + "abc"];
    expect(queues.map((queue) => Buffer.byteLength(queue))).toEqual([63, 63, 63]);
    const steps = queues.map((queue, i) => defineStep(`big ${i}`, { queue }, (_ctx, text: string) => text.length));
    const many = defineStep("many", (_ctx, n: number) => n);

    const listener = new pg.Client({ connectionString: database.url });
    await listener.connect();
    const heard: string[] = [];
    listener.on("notification", ({ payload }) => heard.push(payload ?? ""));
    const producer = testClient(database, { listen: false });
    await listener.query(`listen ${channelOf("public")}`);

    const tx = new pg.Client({ connectionString: database.url });
    await tx.connect();
    await tx.query("begin");
    const text = "x".repeat(1_000_000);
    const big = await Promise.all(steps.map((step) => step.enqueue(producer, text, { tx })));
    await many.enqueueMany(
      producer,
      Array.from({ length: 50_000 }, (_, n) => n),
      { tx },
    );
    await tx.query("commit");
    await tx.end();
    await listener.query("select 1");
    expect(heard).toHaveLength(1);
    expect(Buffer.byteLength(heard[0] ?? "")).toBeLessThan(200);
    await listener.end();

    await testWorker(database, steps);
    expect(await Promise.all(big.map((job) => job.result()))).toEqual([1_000_000, 1_000_000, 1_000_000]);
    const { rows } = await database.query(
      "select count(*)::int as n from cyclone_steps where step = 'many' and state = 'available'",
    );
    expect(rows).toEqual([{ n: 50_000 }]);
  });
});

describe("R49: numbers near the ends of their types", () => {
  it("the engine draws no number from a sequence: ids are uuids, all of whose digits are text", async () => {
    const { rows } = await database.query(
      "select relname from pg_class where relkind = 'S' and relname like 'cyclone%'",
    );
    expect(rows).toEqual([]);
  });

  it("counts and epochs at the end of int, times far beyond it: claimed, failed, completed and read with their types", async () => {
    const step = defineStep("counted", { maxAttempts: 2_147_483_647, timeout: "365d", backoff: 1 }, (ctx) => {
      if (ctx.attempt === 2_147_483_646) throw new Error("once more");
      return [ctx.attempt, ctx.reclaims, ctx.snoozes];
    });
    const producer = testClient(database);
    const job = await step.enqueue(producer);
    await database.query(
      "update cyclone_steps set attempts = 2147483645, reclaims = 9, snoozes = 2147483647, lease_epoch = 2147483640 where run_id = $1",
      [job.id],
    );
    await testWorker(database, [step]);
    expect(await job.result()).toEqual([2_147_483_647, 0, 2_147_483_647]);
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 2_147_483_647, lease_epoch: 2_147_483_642 });
    const [node] = await job.nodes();
    expect(node).toMatchObject({ state: "completed", reclaims: 0 });
    expect(typeof node?.attempt).toBe("number");
    const outcome = await job.wait();
    expect(outcome.finishedAt).toBeInstanceOf(Date);
    expect(job.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it("a number in a payload beyond 2^53 isn't rounded silently: a bigint is refused, a double comes back as it was", async () => {
    const echo = defineStep("echo", { payload: "unchecked" } as object, (_ctx, value: unknown) => value);
    const client = await testWorker(database, [echo]);
    await expect(echo.enqueue(client, 2n ** 53n + 5n)).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
    for (const value of [2 ** 53, 2 ** 31 + 5, -(2 ** 53), 1.7976931348623157e308, 5e-324, 0.1])
      expect(await (await echo.enqueue(client, value)).result()).toBe(value);
  });
});
