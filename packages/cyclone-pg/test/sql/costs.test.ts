import { beforeAll, describe, expect, inject, it } from "vitest";
import { createClient, defineAction, defineStep, defineWorkflow, type Run } from "../../src/index.ts";
import { useOwnServer } from "../support/own-server.ts";
import { recordingLog } from "../support/test-client.ts";
import { loadVolume, NO_SHAPES, NO_VOLUME } from "./volume.ts";

// What each path costs the database per job, through a real client, on a server where nothing else happens. Full page images are
// off, since they depend on when the last checkpoint was.

const server = useOwnServer({
  shared_preload_libraries: "pg_stat_statements",
  autovacuum: "off",
  full_page_writes: "off",
  max_wal_size: "10GB",
  track_counts: "on",
});

interface Costs {
  /** Statements that were sent, BEGIN and COMMIT among them. */
  readonly statements: number;
  /** Shared buffers that were looked at. */
  readonly buffers: number;
  /** Rows that scans gave. */
  readonly rowsRead: number;
  readonly walBytes: number;
}

interface Path {
  readonly name: string;
  readonly count: number;
  /** Per job, or per run: what was measured, and some slack. A change that costs more has to say so here. */
  readonly budget: Costs;
  /** A wake-up claims in each bucket. */
  readonly perFurtherBucket?: Pick<Costs, "statements" | "buffers">;
  /** Not measured: what has to be there before. */
  readonly prepare?: (client: ReturnType<typeof createClient>, count: number) => Promise<unknown>;
  readonly run: (client: ReturnType<typeof createClient>, count: number) => Promise<unknown>;
}

const noop = defineStep("noop", async (_ctx, n: number) => n);
/** Nobody here works it. */
const unserved = defineStep("unserved", async (_ctx, n: number) => n);
const failing = defineStep("failing", { maxAttempts: 2, backoff: 1 }, async (ctx, n: number) => {
  if (ctx.attempt === 1) throw new Error("the first attempt fails");
  return n;
});
const writing = defineAction("writing", async (ctx, n: number) => {
  const tx = await ctx.completionTx();
  await tx.query("insert into ledger (n) values ($1)", [n]);
});
const chain = defineWorkflow("chain", (b, n: number) => noop.do(b, noop.do(b, noop.do(b, n))));
const total = defineStep("total", async (_ctx, numbers: number[]) => numbers.length);
const fan = defineWorkflow("fan", (b, n: number) => {
  const head = noop.do(b, n);
  return total.do(
    b,
    Array.from({ length: 100 }, () => noop.do(b, head)),
  );
});

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const work = async (client: ReturnType<typeof createClient>): Promise<void> => {
  await client.drain({ timeout: "60s" });
};

const paths: readonly Path[] = [
  {
    name: "enqueue one",
    count: 200,
    budget: { statements: 2.5, buffers: 17, rowsRead: 1, walBytes: 1100 },
    run: async (client, count) => {
      for (const n of numbers(count)) await unserved.enqueue(client, n);
    },
  },
  {
    name: "enqueueMany",
    count: 2000,
    budget: { statements: 0.01, buffers: 14, rowsRead: 1, walBytes: 1050 },
    run: (client, count) => unserved.enqueueMany(client, numbers(count)),
  },
  {
    name: "a job",
    count: 1000,
    budget: { statements: 0.5, buffers: 52, rowsRead: 8, walBytes: 1400 },
    prepare: (client, count) => noop.enqueueMany(client, numbers(count)),
    run: work,
  },
  {
    name: "a job, alone",
    count: 50,
    budget: { statements: 9, buffers: 95, rowsRead: 12, walBytes: 2100 },
    perFurtherBucket: { statements: 2, buffers: 16 },
    run: async (client, count) => {
      await client.start();
      for (const n of numbers(count)) await noop.enqueue(client, n).then((run: Run<number>) => run.result());
    },
  },
  {
    name: "a failed attempt, and the job",
    count: 500,
    budget: { statements: 0.6, buffers: 115, rowsRead: 20, walBytes: 5800 },
    prepare: (client, count) => failing.enqueueMany(client, numbers(count)),
    run: async (client, count) => {
      const done = ended(client, count);
      await client.start();
      await done;
    },
  },
  {
    name: "a job with completionTx",
    count: 300,
    budget: { statements: 9.5, buffers: 78, rowsRead: 10, walBytes: 1800 },
    prepare: (client, count) => writing.enqueueMany(client, numbers(count)),
    run: work,
  },
  {
    name: "a chain of 3",
    count: 500,
    budget: { statements: 0.8, buffers: 205, rowsRead: 31, walBytes: 4900 },
    prepare: (client, count) => chain.submitMany(client, numbers(count)),
    run: work,
  },
  {
    name: "a fan of 1, 100 and 1",
    count: 20,
    budget: { statements: 14, buffers: 7500, rowsRead: 1250, walBytes: 165000 },
    prepare: (client, count) => fan.submitMany(client, numbers(count)),
    run: work,
  },
];

describe("costs per job or run", () => {
  // Tables of some size, so that no plan reads all of them for being small.
  beforeAll(async () => {
    await server.query("create extension pg_stat_statements");
    await server.query("create table ledger (n int)");
    await server.query("create role measured superuser login");
    await loadVolume((text) => server.query(text), { ...NO_VOLUME, finished: 20_000 }, NO_SHAPES);
  }, 60_000);

  it.each(paths.map((path) => [path.name, path] as const))("%s", { timeout: 120_000 }, async (_, path) => {
    if (path.prepare !== undefined) await withClient((client) => path.prepare?.(client, path.count));
    await server.query("vacuum analyze");
    await server.query("select pg_stat_reset(), pg_stat_statements_reset()");
    await withClient((client) => path.run(client, path.count));
    const costs = await costsPer(path.count);
    expect(overBudget(costs, budgetOf(path))).toEqual([]);
  });
});

/** As an account of its own, by which pg_stat_statements tells its statements from the test's. */
async function withClient(use: (client: ReturnType<typeof createClient>) => unknown): Promise<void> {
  const url = new URL(server.url);
  url.username = "measured";
  const client = createClient({
    connection: url.href,
    handlers: [noop, total, failing, writing, chain, fan],
    concurrency: 100,
    pollInterval: "30s",
    log: recordingLog().log,
  });
  try {
    await use(client);
  } finally {
    await client.stop();
  }
}

/** Resolves when so many runs have completed in this process. */
function ended(client: ReturnType<typeof createClient>, count: number): Promise<void> {
  let open = count;
  return new Promise((resolve) => {
    client.on("run.completed", () => {
      open -= 1;
      if (open === 0) resolve();
    });
  });
}

async function costsPer(count: number): Promise<Costs> {
  const [statements] = await server.query(
    `select sum(s.calls)::float8 as calls, sum(s.shared_blks_hit + s.shared_blks_read)::float8 as buffers, sum(s.wal_bytes)::float8 as wal
     from pg_stat_statements s join pg_roles r on r.oid = s.userid where r.rolname = 'measured'`,
  );
  const [tables] = await server.query(
    "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as rows from pg_stat_user_tables where relname like 'cyclone%'",
  );
  const per = (value: unknown): number => Math.round((Number(value) / count) * 100) / 100;
  return {
    statements: per(statements?.["calls"]),
    buffers: per(statements?.["buffers"]),
    rowsRead: per(tables?.["rows"]),
    walBytes: per(statements?.["wal"]),
  };
}

function budgetOf({ budget, perFurtherBucket = { statements: 0, buffers: 0 } }: Path): Costs {
  const further = inject("postgres").bucketCount - 1;
  return {
    ...budget,
    statements: budget.statements + further * perFurtherBucket.statements,
    buffers: budget.buffers + further * perFurtherBucket.buffers,
  };
}

function overBudget(costs: Costs, budget: Costs): string[] {
  return (Object.keys(budget) as (keyof Costs)[])
    .filter((key) => costs[key] > budget[key])
    .map((key) => `${costs[key]} ${key}, at most ${budget[key]} allowed`);
}
