import pg from "pg";
import { describe, expect, it } from "vitest";
import { defineStep, defineWorkflow } from "../../src/index.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const double = defineStep("double", async (_ctx, n: number) => n * 2);
const twice = defineWorkflow("twice", (b, n: number) => double.do(b, double.do(b, n)));

const count = async (where = "true"): Promise<number> => {
  const { rows } = await database.query<{ count: string }>(`select count(*) from cyclone_runs where ${where}`);
  return Number(rows[0]?.count);
};

describe("many starts in one call", () => {
  it("give their runs in the order of the inputs", async () => {
    const client = await testWorker(database, [double]);
    const inputs = Array.from({ length: 300 }, (_, i) => i);
    const jobs = await double.enqueueMany(client, inputs);
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(inputs.map((n) => n * 2));
    const runs = await twice.submitMany(client, inputs.slice(0, 50));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(inputs.slice(0, 50).map((n) => n * 4));
  });

  it("are one transaction", async () => {
    const client = testClient(database);
    const runs = await twice.submitMany(
      client,
      Array.from({ length: 5_000 }, (_, i) => i),
    );
    const { rows } = await database.query(
      `select count(*)::int as rows, count(distinct xmin::text)::int as transactions from (
         select xmin from cyclone_runs where id = any ($1::uuid[])
         union all select xmin from cyclone_steps where run_id = any ($1::uuid[])) written`,
      [runs.map((run) => run.id)],
    );
    expect(rows).toEqual([{ rows: 15_000, transactions: 1 }]);
  });

  it("write all or none: one bad input among thousands leaves nothing", async () => {
    const client = testClient(database);
    const before = await count();
    const inputs: number[] = Array.from({ length: 6_000 }, (_, i) => i);
    inputs[5_998] = Number.NaN;
    await expect(double.enqueueMany(client, inputs)).rejects.toMatchObject({ code: "CYCLONE_INVALID_PAYLOAD" });
    expect(await count()).toBe(before);
  });

  it("of nothing are no runs and no error", async () => {
    const client = testClient(database);
    expect(await double.enqueueMany(client, [])).toEqual([]);
    expect(await twice.submitMany(client, [])).toEqual([]);
  });

  it("share the other options", async () => {
    const client = testClient(database);
    const jobs = await double.enqueueMany(client, [1, 2], { delay: "1h", tags: ["many"], queue: "q", priority: 4 });
    const { rows } = await database.query(
      "select s.state, s.queue, s.priority, r.tags from cyclone_steps s join cyclone_runs r on r.id = s.run_id where r.id = any ($1::uuid[])",
      [jobs.map((job) => job.id)],
    );
    const expected = { state: "scheduled", queue: "q", priority: 4, tags: ["many"] };
    expect(rows).toEqual([expected, expected]);
  });

  it("can be part of the caller's transaction, all of them", async () => {
    const client = testClient(database);
    const tx = new pg.Client({ connectionString: database.url });
    await tx.connect();
    try {
      const before = await count();
      await tx.query("begin");
      const runs = await twice.submitMany(
        client,
        Array.from({ length: 2_500 }, (_, i) => i),
        { tx },
      );
      expect(runs).toHaveLength(2_500);
      expect(await count()).toBe(before);
      await tx.query("rollback");
      expect(await count()).toBe(before);
      await tx.query("begin");
      await twice.submitMany(client, [1, 2, 3], { tx });
      await tx.query("commit");
      expect(await count()).toBe(before + 3);
    } finally {
      await tx.end();
    }
  });
});

describe("many starts with keys", () => {
  it("make one run per key, also for a key that comes twice in one call", async () => {
    const client = testClient(database);
    const runs = await double.enqueueMany(client, [1, 2, 1, 3, 2], { idempotencyKey: (n) => `twice-${n}` });
    expect(runs[0]?.id).toBe(runs[2]?.id);
    expect(runs[1]?.id).toBe(runs[4]?.id);
    expect(new Set(runs.map((run) => run.id)).size).toBe(3);
    // One of each pair made the run and the other found it.
    expect([runs[0], runs[2]].filter((run) => run?.existing)).toHaveLength(1);
    expect([runs[1], runs[4]].filter((run) => run?.existing)).toHaveLength(1);
    expect(await count("idempotency_key like 'twice-%'")).toBe(3);
  });

  it("find those that exist and make the others, in the order of the inputs", async () => {
    const client = testClient(database);
    const [old] = await double.enqueueMany(client, [50], { idempotencyKey: (n) => `mixed-${n}` });
    const inputs = Array.from({ length: 100 }, (_, i) => i);
    const runs = await double.enqueueMany(client, inputs, {
      idempotencyKey: (n, i) => `mixed-${n}${i === n ? "" : "!"}`,
    });
    expect(runs.flatMap((run, i) => (run.existing ? [i] : []))).toEqual([50]);
    expect(runs[50]?.id).toBe(old?.id);
    const { rows } = await database.query<{ run_id: string; input: number }>(
      "select run_id, input from cyclone_steps where run_id = any ($1::uuid[])",
      [runs.map((run) => run.id)],
    );
    const inputOf = new Map(rows.map((row) => [row.run_id, row.input]));
    expect(runs.map((run) => inputOf.get(run.id))).toEqual(inputs);
  });

  it("write none at all if one key is taken by another input", async () => {
    const client = testClient(database);
    await double.enqueue(client, 1, { idempotencyKey: "taken" });
    const before = await count();
    const started = double.enqueueMany(client, [5, 6, 7], { idempotencyKey: (n) => (n === 6 ? "taken" : `free-${n}`) });
    await expect(started).rejects.toMatchObject({ code: "CYCLONE_IDEMPOTENCY_KEY_REUSED" });
    expect(await count()).toBe(before);
  });

  it("refuse two different inputs under one key in one call, and write none", async () => {
    const client = testClient(database);
    const before = await count();
    const started = twice.submitMany(client, [1, 2], { idempotencyKey: () => "same" });
    await expect(started).rejects.toMatchObject({ code: "CYCLONE_IDEMPOTENCY_KEY_REUSED" });
    expect(await count()).toBe(before);
  });

  it("of overlapping calls from two clients, in opposite orders, don't wait for each other crosswise", async () => {
    const [a, b] = [testClient(database), testClient(database)];
    const inputs = Array.from({ length: 400 }, (_, i) => i);
    const idempotencyKey = (n: number) => `cross-${n}`;
    for (let round = 0; round < 3; round++) {
      const here = inputs.map((n) => n + round * 1_000);
      const [first, second] = await Promise.all([
        double.enqueueMany(a, here, { idempotencyKey }),
        double.enqueueMany(b, [...here].reverse(), { idempotencyKey }),
      ]);
      expect(second.map((run) => run.id).reverse()).toEqual(first.map((run) => run.id));
    }
    expect(await count("idempotency_key like 'cross-%'")).toBe(1_200);
  });

  it("of workflows that take several statements keep each run's nodes together", async () => {
    const client = testClient(database);
    const wide = defineWorkflow("wide", (b, width: number) => {
      for (let i = 0; i < width; i++) double.do(b, i);
    });
    const runs = await wide.submitMany(client, [900, 901, 2_500, 902], { idempotencyKey: (n) => `wide-${n}` });
    const again = await wide.submitMany(client, [902, 2_500, 3], { idempotencyKey: (n) => `wide-${n}` });
    expect(again.map((run) => run.existing)).toEqual([true, true, false]);
    const { rows } = await database.query<{ run_id: string; nodes: number }>(
      "select run_id, count(*)::int as nodes from cyclone_steps where run_id = any ($1::uuid[]) group by run_id",
      [[...runs, again[2]!].map((run) => run.id)],
    );
    const nodesOf = new Map(rows.map((row) => [row.run_id, row.nodes]));
    expect([...runs, again[2]!].map((run) => nodesOf.get(run.id))).toEqual([900, 901, 2_500, 902, 3]);
  });
});
