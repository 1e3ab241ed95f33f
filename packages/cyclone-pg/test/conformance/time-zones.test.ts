import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const zoneBefore = process.env["TZ"];

/** Milliseconds since 1970 of a column, as the server counts them, whatever zone anybody is in. */
async function epochOf(column: string, runId: string): Promise<number> {
  const { rows } = await database.query<{ ms: number }>(
    `select (extract(epoch from ${column}) * 1000)::float8 as ms from cyclone_steps where run_id = $1`,
    [runId],
  );
  return Math.round(rows[0]?.ms ?? Number.NaN);
}

beforeAll(async () => {
  process.env["TZ"] = "Asia/Kolkata";
  await database.query(`alter database ${database.name} set timezone to 'America/New_York'`);
});
afterAll(() => {
  if (zoneBefore === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zoneBefore;
});

const step = defineStep("step", async () => {});

describe("a process in one time zone and a session in another", () => {
  it("are what this file tests in", async () => {
    expect(new Date(0).getTimezoneOffset()).toBe(-330);
    const zone = defineStep("zone", async (ctx) => {
      const { rows } = await (await ctx.completionTx()).query<{ zone: string }>(
        "select current_setting('TimeZone') as zone",
      );
      return rows[0]?.zone ?? "";
    });
    const client = await testWorker(database, [zone]);
    expect(await (await zone.enqueue(client)).result()).toBe("America/New_York");
  });

  it("agree on every instant to the millisecond: startAt, delays, ends", async () => {
    const client = await testWorker(database, [step]);
    for (const text of [
      "2031-03-30T01:30:00.123Z",
      "2031-11-02T05:30:00.001Z",
      "2031-11-02T06:30:00.999Z",
      "2040-02-29T23:59:59.500Z",
    ]) {
      const byDate = await step.enqueue(client, undefined, { startAt: new Date(text) });
      const byText = await step.enqueue(client, undefined, { startAt: text });
      expect(await epochOf("available_at", byDate.id), text).toBe(Date.parse(text));
      expect(await epochOf("available_at", byText.id), text).toBe(Date.parse(text));
    }
    const job = await step.enqueue(client);
    const { finishedAt } = await job.wait();
    const { rows } = await database.query<{ ms: number }>(
      "select (extract(epoch from finished_at) * 1000)::float8 as ms from cyclone_runs where id = $1",
      [job.id],
    );
    expect(Math.abs(finishedAt.getTime() - (rows[0]?.ms ?? 0))).toBeLessThan(1);
    expect(Math.abs(finishedAt.getTime() - Date.now())).toBeLessThan(60_000);
  });

  it("agree on when a retry is due", async () => {
    const flaky = defineStep("flaky", { backoff: "300ms" }, async (ctx) => {
      if (ctx.attempt === 1) throw new Error("once");
    });
    const client = await testWorker(database, [flaky]);
    const begun = performance.now();
    await (await flaky.enqueue(client)).result();
    expect(performance.now() - begun).toBeGreaterThanOrEqual(300);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

describe("a process whose clock is wrong", () => {
  it("is harmless: now, delays and leases go by the database's clock", async () => {
    const real = Date.now;
    try {
      for (const offMs of [-600_000, 600_000]) {
        Date.now = () => real() + offMs;
        const client = await testWorker(database, [step], { leaseTtl: "10s" });
        const job = await step.enqueue(client);
        await job.result();
        const delayed = await step.enqueue(client, undefined, { delay: "1h" });
        const { rows } = await database.query<{ ms: number }>(
          "select (extract(epoch from statement_timestamp()) * 1000)::float8 as ms",
        );
        expect(Math.abs((await epochOf("available_at", delayed.id)) - (rows[0]?.ms ?? 0) - 3_600_000)).toBeLessThan(
          30_000,
        );
        const soon = await step.enqueue(client, undefined, { delay: "200ms" });
        await soon.result();
        expect((await stepRow(database, delayed.id)).state).toBe("scheduled");
        await client.stop();
      }
    } finally {
      Date.now = real;
    }
  });

  it("that goes back makes no ids twice and no order wrong: runs are ordered by the database's created_at", async () => {
    const client = testClient(database);
    const real = Date.now;
    const ids: string[] = [];
    try {
      for (const offMs of [0, -3_600_000, 5_000, -10]) {
        Date.now = () => real() + offMs;
        ids.push((await step.enqueue(client, undefined, { delay: "1h" })).id);
      }
    } finally {
      Date.now = real;
    }
    expect(new Set(ids).size).toBe(4);
    const { rows } = await database.query<{ id: string }>(
      "select id from cyclone_runs where id = any ($1::uuid[]) order by created_at",
      [ids],
    );
    expect(rows.map((row) => row.id)).toEqual(ids);
  });
});
