import { beforeAll, describe, expect, inject, it } from "vitest";
import { type Client, createClient, Discard, defineStep, defineWorkflow, type RunFilter } from "../../src/index.ts";
import { listRuns } from "../../src/sql/read/list-runs.ts";
import { listUnsuccessfulRuns } from "../../src/sql/read/list-unsuccessful-runs.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { recordingLog, testClient } from "../support/test-client.ts";
import { type TestDatabase, useTestDatabase } from "../support/test-database.ts";

const add = defineStep("add", async (_ctx, n: number) => n + 1);
const fail = defineStep("fail", { queue: "risky" }, async (_ctx, message: string): Promise<number> => {
  throw Object.assign(new Discard(message), { code: "E_LUCK", cause: new Error("relation gone") });
});
const plus = defineWorkflow("plus", (b, n: number) => add.do(b, add.do(b, n)));
const failing = defineWorkflow("failing", (b, message: string) => add.do(b, fail.do(b, message)));
const sameName = defineWorkflow("add", (b) => add.do(b, 1));

/** Every run that a filter finds, page by page. */
async function listed(client: Client, filter: RunFilter = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.runs.list({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.runs.length).toBeLessThanOrEqual(filter.limit ?? 50);
    ids.push(...page.runs.map((run) => run.id));
    cursor = page.next;
  }
  return ids;
}

/** What the tables say. */
async function expected(database: TestDatabase, condition: string, schema = "public"): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `select r.id from ${schema}.cyclone_runs r where ${condition} order by r.created_at desc, r.id desc`,
  );
  return rows.map((row) => row.id);
}

describe("runs.list()", () => {
  const database = useTestDatabase();
  let firstAt: Date;
  let lastAt: Date;

  beforeAll(async () => {
    await using worker = createClient({ connection: database.url, handlers: [add, fail], log: recordingLog().log });
    await worker.start();
    const first = await plus.submit(worker, 1, { tags: ["a", "b"] });
    const jobs = await add.enqueueMany(worker, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], { tags: ["b"] });
    const failed = await failing.submit(worker, "no Luck at all");
    const waiting = await add.enqueue(worker, 1, { delay: "1h", queue: "later" });
    const last = await sameName.submit(worker);
    await Promise.all([first, ...jobs, failed, last].map((run) => run.wait()));
    expect(await waiting.state()).toBe("running");
    await database.query("update cyclone_runs set created_at = created_at - interval '1 hour' where id <> $1", [
      last.id,
    ]);
    const created = async (id: string): Promise<Date> => {
      const { rows } = await database.query<{ at: Date }>("select created_at as at from cyclone_runs where id = $1", [
        id,
      ]);
      return rows[0]?.at ?? new Date(0);
    };
    [firstAt, lastAt] = [await created(first.id), await created(last.id)];
  });

  it("gives the runs by age, youngest first, without payloads", async () => {
    const { runs, next } = await testClient(database).runs.list();
    expect(next).toBeNull();
    expect(runs.map((run) => run.id)).toEqual(await expected(database, "true"));
    const ended = { createdAt: expect.any(Date), finishedAt: expect.any(Date) };
    expect(runs[0]).toEqual({
      id: expect.any(String),
      name: "add",
      kind: "workflow",
      state: "completed",
      tags: [],
      error: null,
      ...ended,
    });
    expect(runs.at(-1)).toMatchObject({ name: "plus", tags: ["a", "b"], createdAt: firstAt });
    expect(runs[1]).toMatchObject({ kind: "step", state: "running", finishedAt: null });
    expect(runs[2]).toMatchObject({
      name: "failing",
      state: "failed",
      error: { name: "Discard", message: "no Luck at all", code: "E_LUCK", node: "fail" },
    });
    expect(runs[2]?.error).not.toHaveProperty("stack");
  });

  it("has a statement that names no payload", () => {
    for (const statement of [listRuns, listUnsuccessfulRuns])
      expect(statement.text(tablesOf("public"))).not.toMatch(/\b(input|output)\b/);
  });

  it.each<[string, () => RunFilter, string]>([
    ["one state", () => ({ state: "completed" }), "r.state = 'completed'"],
    ["the failed ones", () => ({ state: "failed" }), "r.state = 'failed'"],
    ["several states", () => ({ state: ["failed", "running"] }), "r.state in ('failed', 'running')"],
    ["a workflow", () => ({ definition: plus }), "r.workflow = 'plus'"],
    ["a step of the same name", () => ({ definition: add }), "r.name = 'add' and r.kind = 'step'"],
    ["a name", () => ({ definition: "add" }), "r.name = 'add'"],
    ["a node's step", () => ({ step: fail }), "r.name = 'failing'"],
    ["a node's step by its name", () => ({ step: "add" }), "true"],
    ["a node's queue", () => ({ queue: "later" }), "r.state = 'running'"],
    ["a queue that only one of its nodes is in", () => ({ queue: "risky" }), "r.name = 'failing'"],
    ["a step in a queue", () => ({ step: add, queue: "risky" }), "false"],
    ["a tag", () => ({ tags: ["b"] }), "'b' = any (r.tags)"],
    ["all of several tags", () => ({ tags: ["b", "a"] }), "r.name = 'plus'"],
    ["an error's message", () => ({ error: "no luck" }), "r.state = 'failed'"],
    ["an error's code", () => ({ error: "E_LUCK" }), "r.state = 'failed'"],
    ["the message of an error's cause", () => ({ error: "Relation gone" }), "r.state = 'failed'"],
    ["an error that there isn't", () => ({ error: "%" }), "false"],
    ["what isn't older than the first", () => ({ createdAfter: firstAt }), "true"],
    [
      "what is older than the last",
      () => ({ createdBefore: lastAt.toISOString() }),
      "r.id <> (select id from cyclone_runs order by created_at desc limit 1)",
    ],
    [
      "everything at once",
      () => ({
        state: "failed",
        definition: failing,
        step: "fail",
        queue: "risky",
        error: "luck",
        createdAfter: firstAt,
      }),
      "r.state = 'failed'",
    ],
  ])("finds by %s", async (_, filter, condition) => {
    const client = testClient(database);
    const ids = await expected(database, condition);
    expect(await listed(client, filter())).toEqual(ids);
    expect(await listed(client, { ...filter(), limit: 1 })).toEqual(ids);
  });

  it("pages through runs of one instant, each once, whatever comes meanwhile", async () => {
    const client = testClient(database);
    const all = await expected(database, "true");
    const first = await client.runs.list({ limit: 5 });
    await add.enqueue(client, 1, { delay: "1h", queue: "later" });
    const rest = await listed(client, { limit: 3, cursor: first.next ?? "" });
    expect([...first.runs.map((run) => run.id), ...rest]).toEqual(all);
  });
});

describe("runs.list() of a filter that fits few runs among many", () => {
  const database = useTestDatabase();

  /** Runs as rows only, over all buckets: every hundredth has a node in the queue "rare", and the oldest is the only one of its name. */
  async function fill(schema: string, buckets: number, count: number): Promise<void> {
    await database.query(
      `insert into ${schema}.cyclone_runs (bucket, id, kind, name, remaining, state, finished_at, created_at)
       select n % $1::int, gen_random_uuid(), 'workflow', case when n = 1 then 'oldest' else 'any' end, 0,
         (case when n = 2 then 'failed' else 'completed' end)::${schema}.cyclone_run_state, now(), now() - interval '1 day' + n / 7 * interval '1 microsecond'
       from generate_series(1, $2::int) n`,
      [buckets, count],
    );
    await database.query(
      `insert into ${schema}.cyclone_steps (bucket, run_id, key, node, step, kind, state, queue, finished_at)
       select r.bucket, r.id, 0, 'node', 'node', 'step', 'completed', 'rare', now() from ${schema}.cyclone_runs r
       where get_byte(uuid_send(r.id), 0) < 3`,
    );
  }

  const rare = (schema: string): string =>
    `exists (select from ${schema}.cyclone_steps s where s.bucket = r.bucket and s.run_id = r.id and s.queue = 'rare')`;

  it("looks at so many and no more, and leads on", async () => {
    const client = testClient(database);
    await fill("public", inject("postgres").bucketCount, 101_000);
    const oldest = await expected(database, "r.name = 'oldest'");
    const page = await client.runs.list({ definition: "oldest" });
    expect(page).toEqual({ runs: [], next: expect.any(String) });
    const rest = await client.runs.list({ definition: "oldest", cursor: page.next ?? "" });
    expect(rest.runs.map((run) => run.id)).toEqual(oldest);
    expect(rest.next).toBeNull();
  });

  it("finds failed ones at once", async () => {
    const page = await testClient(database).runs.list({ state: ["failed", "cancelled"] });
    expect(page.runs.map((run) => run.id)).toEqual(await expected(database, "r.state = 'failed'"));
    expect(page.next).toBeNull();
  });

  it("merges the buckets in order, also where each is known down to another run only", async () => {
    const client = testClient(database, { schema: "four" });
    await client.migrate({ bucketCount: 4 });
    await fill("four", 4, 6_000);
    expect(await listed(client, { queue: "rare" })).toEqual(await expected(database, rare("four"), "four"));
    expect(await listed(client, { queue: "rare", limit: 7 })).toEqual(await expected(database, rare("four"), "four"));
    const since = { createdAfter: new Date(Date.now() - 86_400_000 * 2), limit: 999 };
    expect(await listed(client, since)).toEqual(await expected(database, "true", "four"));
  });
});

describe("a filter or cursor that can't be used", () => {
  it.each<[object, string]>([
    [{ stat: "failed" }, "stat"],
    [{ state: "done" }, "state"],
    [{ state: [] }, "state"],
    [{ definition: {} }, "definition"],
    [{ definition: "" }, "definition"],
    [{ step: plus }, "step"],
    [{ queue: "a\u0000b" }, "queue"],
    [{ tags: "a" }, "tags"],
    [{ tags: [1] }, "tags"],
    [{ createdAfter: "yesterday" }, "createdAfter"],
    [{ createdBefore: new Date(Number.NaN) }, "createdBefore"],
    [{ error: "" }, "error"],
    [{ error: 5 }, "error"],
    [{ cursor: "" }, "cursor"],
    [{ cursor: "bm90IGEgY3Vyc29y" }, "cursor"],
    [{ cursor: 7 }, "cursor"],
    [{ limit: 0 }, "limit"],
    [{ limit: 1_001 }, "limit"],
    [{ limit: 1.5 }, "limit"],
  ])("is refused: %o", async (filter, option) => {
    const nowhere = testClient({ url: "postgres://postgres@127.0.0.1:1/none" });
    await expect(nowhere.runs.list(filter as RunFilter)).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      option,
    });
  });
});
