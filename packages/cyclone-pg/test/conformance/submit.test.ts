import { describe, expect, it } from "vitest";
import { defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { stepRows } from "../support/engine-rows.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

interface Page {
  url: string;
  links: string[];
}
interface Receipt {
  id: string;
}

const fetchPage = defineStep("fetch", async (_ctx, url: string): Promise<Page> => ({ url, links: [] }));
const save = defineStep(
  "save",
  { queue: "db", maxAttempts: 5, priority: 3, maxReclaims: 2 },
  async (_ctx, page: Page): Promise<Receipt> => ({ id: page.url }),
);
const mail = defineAction("mail", { timeout: "30s" }, async (_ctx, _input: { to: string; receipt: Receipt }) => {});

const ingest = defineWorkflow("ingest", (b, url: string) => {
  const page = fetchPage.do(b, url);
  const receipt = save.do(b, page, { timeout: "2m" });
  mail.do(b, { to: "ops@example.com", receipt }, { after: [page], maxAttempts: 2 });
  return receipt;
});

const rowsIn = async (table: string): Promise<number> => {
  const { rows } = await database.query<{ count: string }>(`select count(*) from cyclone_${table}`);
  return Number(rows[0]?.count);
};

describe("a submit", () => {
  it("writes the run's row, one row per node and one per pair of nodes with an edge", async () => {
    const client = testClient(database);
    const run = await ingest.submit(client, "https://example.com");

    const runs = await database.query("select * from cyclone_runs where id = $1", [run.id]);
    expect(runs.rows).toEqual([
      expect.objectContaining({
        workflow: "ingest",
        kind: "workflow",
        name: "ingest",
        state: "running",
        remaining: 3,
        input: "https://example.com",
        result_node: "save",
        finished_at: null,
      }),
    ]);
    expect(runs.rows[0]?.["created_at"]).toBeInstanceOf(Date);

    expect(await stepRows(database, run.id)).toEqual([
      expect.objectContaining({ key: 0, node: "fetch", step: "fetch", kind: "step", state: "available", pending: 0 }),
      expect.objectContaining({ key: 1, node: "save", step: "save", kind: "step", state: "pending", pending: 1 }),
      expect.objectContaining({ key: 2, node: "mail", step: "mail", kind: "action", state: "pending", pending: 2 }),
    ]);
    const deps = await database.query("select node, upstream, data from cyclone_deps where run_id = $1", [run.id]);
    expect(deps.rows).toHaveLength(3);
    expect(deps.rows).toEqual(
      expect.arrayContaining([
        { node: "save", upstream: "fetch", data: true },
        { node: "mail", upstream: "save", data: true },
        { node: "mail", upstream: "fetch", data: false },
      ]),
    );
  });

  it("keeps in each node's row what the submitter decided, and the declared input", async () => {
    const client = testClient(database);
    const run = await ingest.submit(client, "u");
    expect(await stepRows(database, run.id)).toEqual([
      expect.objectContaining({
        queue: "default",
        priority: 0,
        max_attempts: 25,
        max_reclaims: 10,
        timeout_ms: null,
        input: "u",
      }),
      expect.objectContaining({
        queue: "db",
        priority: 3,
        max_attempts: 5,
        max_reclaims: 2,
        timeout_ms: "120000",
        input: { $future: "fetch", ref: 0 },
      }),
      // The action's own timeout stays in the worker's code: only a node's explicit one is the submitter's decision.
      expect.objectContaining({
        queue: "default",
        max_attempts: 2,
        timeout_ms: null,
        input: { to: "ops@example.com", receipt: { $future: "save", ref: 0 } },
      }),
    ]);
  });

  it("is a single transaction", async () => {
    const client = testClient(database);
    const run = await ingest.submit(client, "u");
    const { rows } = await database.query(
      `select count(distinct xmin::text)::int as transactions from (
         select xmin from cyclone_runs where id = $1
         union all select xmin from cyclone_steps where run_id = $1
         union all select xmin from cyclone_deps where run_id = $1) written`,
      [run.id],
    );
    expect(rows).toEqual([{ transactions: 1 }]);
  });

  it("is a single transaction for a run that takes several statements to write", async () => {
    const client = testClient(database);
    const wide = defineWorkflow("wide", (b, count: number) => {
      for (let i = 0; i < count; i++) fetchPage.do(b, `u${i}`);
    });
    const run = await wide.submit(client, 5_000);
    const { rows } = await database.query(
      "select count(*)::int as nodes, count(distinct xmin::text)::int as transactions from cyclone_steps where run_id = $1",
      [run.id],
    );
    expect(rows).toEqual([{ nodes: 5_000, transactions: 1 }]);
  });

  it("leaves nothing behind when a row of it is refused", async () => {
    const client = testClient(database);
    const before = [await rowsIn("runs"), await rowsIn("steps"), await rowsIn("deps")];
    // A constraint stands in for whatever can go wrong in the middle.
    await database.query("alter table cyclone_deps add constraint staged check (node <> 'mail') not valid");
    try {
      await expect(ingest.submit(client, "u")).rejects.toMatchObject({ code: "23514" });
    } finally {
      await database.query("alter table cyclone_deps drop constraint staged");
    }
    expect([await rowsIn("runs"), await rowsIn("steps"), await rowsIn("deps")]).toEqual(before);
  });

  it("writes nothing when the build throws", async () => {
    const client = testClient(database);
    const broken = defineWorkflow("broken", (b, url: string) => {
      fetchPage.do(b, url);
      fetchPage.do(b, url, { name: "one" });
      save.do(b, { url, links: [] }, { name: "one" });
    });
    const before = await rowsIn("runs");
    await expect(broken.submit(client, "u")).rejects.toMatchObject({ code: "CYCLONE_DUPLICATE_NODE" });
    expect(await rowsIn("runs")).toBe(before);
  });

  it("calls the builder once, in the submitting process, which may branch on the submit's input", async () => {
    const client = testClient(database);
    const seen: boolean[] = [];
    const branching = defineWorkflow("branching", (b, input: { archive: boolean }) => {
      seen.push(input.archive);
      const page = fetchPage.do(b, "u");
      if (input.archive) save.do(b, page);
    });
    const short = await branching.submit(client, { archive: false });
    const long = await branching.submit(client, { archive: true });
    expect(seen).toEqual([false, true]);
    expect((await stepRows(database, short.id)).map((row) => row.node)).toEqual(["fetch"]);
    expect((await stepRows(database, long.id)).map((row) => row.node)).toEqual(["fetch", "save"]);
  });

  it("makes no edge by the order in the builder: nodes without a path between them start together", async () => {
    const client = testClient(database);
    const apart = defineWorkflow("apart", (b) => {
      fetchPage.do(b, "a");
      fetchPage.do(b, "b");
    });
    const run = await apart.submit(client);
    expect((await stepRows(database, run.id)).map(({ node, state }) => ({ node, state }))).toEqual([
      { node: "fetch", state: "available" },
      { node: "fetch-2", state: "available" },
    ]);
  });

  it("stores the graph that plan() shows", async () => {
    const client = testClient(database);
    const diamond = defineWorkflow("diamond", (b, url: string) => {
      const page = fetchPage.do(b, url);
      const left = save.do(b, page, { name: "left" });
      const right = save.do(b, { url: page.get("url"), links: page.get("links") }, { name: "right", after: [page] });
      mail.do(b, { to: "a", receipt: right }, { after: [left, right] });
      return right.get("id");
    });
    const plan = diamond.plan("u");
    const run = await diamond.submit(client, "u");
    const graph = await run.graph();
    const byName = (a: { from: string; to: string }, b: { from: string; to: string }) =>
      `${a.to} ${a.from}` < `${b.to} ${b.from}` ? -1 : 1;
    expect([...graph.edges].sort(byName)).toEqual([...plan.edges].sort(byName));
    expect(graph.nodes.map(({ name, kind, step }) => ({ name, kind, step }))).toEqual(
      plan.nodes.map(({ name, kind, step }) => ({ name, kind, step })),
    );
    expect({ result: graph.result, path: graph.resultPath }).toEqual({ result: "right", path: ["id"] });
    expect({ result: plan.result, path: plan.resultPath }).toEqual({ result: "right", path: ["id"] });
    const rows = await stepRows(database, run.id);
    const planned = plan.nodes.map(({ queue, priority, maxAttempts }) => ({ queue, priority, maxAttempts }));
    expect(rows.map(({ queue, priority, max_attempts }) => ({ queue, priority, maxAttempts: max_attempts }))).toEqual(
      planned,
    );
  });
});

describe("an enqueue", () => {
  it("makes a run with one node and no edge, inserted as available", async () => {
    const client = testClient(database);
    const job = await save.enqueue(client, { url: "u", links: [] });
    const { rows } = await database.query(
      "select kind, name, workflow, remaining, result_node from cyclone_runs where id = $1",
      [job.id],
    );
    expect(rows).toEqual([{ kind: "step", name: "save", workflow: null, remaining: 1, result_node: "save" }]);
    expect(await stepRows(database, job.id)).toEqual([
      expect.objectContaining({ node: "save", state: "available", pending: 0, input: { url: "u", links: [] } }),
    ]);
    expect((await database.query("select 1 from cyclone_deps where run_id = $1", [job.id])).rows).toEqual([]);
  });

  it("of an action makes a run without a result", async () => {
    const client = testClient(database);
    const job = await mail.enqueue(client, { to: "a", receipt: { id: "r" } });
    const { rows } = await database.query("select kind, result_node from cyclone_runs where id = $1", [job.id]);
    expect(rows).toEqual([{ kind: "action", result_node: null }]);
  });

  it("can start with each node's options overridden by the submit, and the submit by the node", async () => {
    const client = testClient(database);
    const job = await save.enqueue(client, { url: "u", links: [] }, { queue: "slow", priority: -7 });
    expect(await stepRows(database, job.id)).toEqual([
      expect.objectContaining({ queue: "slow", priority: -7, max_attempts: 5 }),
    ]);
    const pair = defineWorkflow("pair", (b) => {
      save.do(b, { url: "u", links: [] });
      save.do(b, { url: "u", links: [] }, { queue: "fast", priority: 9 });
    });
    const run = await pair.submit(client, undefined, { queue: "slow", priority: -7 });
    expect(await stepRows(database, run.id)).toEqual([
      expect.objectContaining({ node: "save", queue: "slow", priority: -7 }),
      expect.objectContaining({ node: "save-2", queue: "fast", priority: 9 }),
    ]);
  });
});
