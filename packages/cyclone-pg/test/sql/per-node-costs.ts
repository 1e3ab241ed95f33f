import { expect } from "vitest";
import { type Client, createClient, defineStep, defineWorkflow } from "../../src/index.ts";
import type { OwnServer } from "../support/own-server.ts";
import { recordingLog } from "../support/test-client.ts";

/** What a node of a run costs, submit and end of the run included. */
export interface PerNodeCosts {
  readonly buffers: number;
  readonly walBytes: number;
  /** Planning and running of all statements. */
  readonly databaseMs: number;
}

/** For a server whose statements are counted. Full page images depend on when the last checkpoint was. */
export const COUNTING = {
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track_planning": "on",
  full_page_writes: "off",
  max_wal_size: "10GB",
};

const give = defineStep("give", async (_ctx, n: number) => n);
const count = defineStep("count", async (_ctx, numbers: number[]) => numbers.length);
const follow = defineStep("follow", async () => {});

const chain = defineWorkflow("chain", (b, length: number) => {
  let last = give.do(b, 0);
  for (let i = 1; i < length; i++) last = give.do(b, last);
});
const layer = defineWorkflow("layer", (b, width: number) => {
  const head = give.do(b, 0);
  for (let i = 0; i < width; i++) follow.do(b, undefined, { after: [head] });
});
const fanIn = defineWorkflow("fan-in", (b, width: number) => {
  const outputs = Array.from({ length: width }, (_, n) => give.do(b, n));
  count.do(b, outputs);
});

export const shapes = { chain, layer, "fan-in": fanIn } as const;

type Shape = (typeof shapes)[keyof typeof shapes];

/** A worker whose statements are told from the test's own by its account. */
export async function withMeasuredWorker(server: OwnServer, use: (client: Client) => Promise<void>): Promise<void> {
  await server.query("create extension if not exists pg_stat_statements");
  const known = await server.query("select 1 from pg_roles where rolname = 'measured'");
  if (known.length === 0) await server.query("create role measured superuser login");
  const url = new URL(server.url);
  url.username = "measured";
  const client = createClient({
    connection: url.href,
    handlers: [give, count, follow],
    concurrency: 100,
    pollInterval: "10s",
    log: recordingLog().log,
  });
  try {
    await client.start();
    await use(client);
  } finally {
    await client.stop();
  }
}

/** Submits runs of a shape one after the other, and waits for each. */
export async function costsPerNode(
  server: OwnServer,
  client: Client,
  shape: Shape,
  nodes: number,
  runs: number,
): Promise<PerNodeCosts> {
  await server.query("select pg_stat_statements_reset()");
  for (let i = 0; i < runs; i++) {
    const run = await shape.submit(client, nodes);
    expect(await run.wait()).toMatchObject({ state: "completed" });
  }
  const [row] = await server.query(
    `select sum(s.shared_blks_hit + s.shared_blks_read)::float8 as buffers, sum(s.wal_bytes)::float8 as wal,
       sum(s.total_plan_time + s.total_exec_time)::float8 as ms
     from pg_stat_statements s join pg_roles r on r.oid = s.userid where r.rolname = 'measured'`,
  );
  const per = (value: unknown): number => Number(value) / (nodes * runs);
  return { buffers: per(row?.["buffers"]), walBytes: per(row?.["wal"]), databaseMs: per(row?.["ms"]) };
}
