type Query = (text: string) => Promise<unknown>;

/** How many rows of each kind the tables hold. */
export interface VolumeSizes {
  /** Jobs that have completed; a quarter of them in another bucket. */
  readonly finished: number;
  /** Jobs that are due tomorrow. */
  readonly scheduled: number;
  /** Available jobs of fifty step names that no worker here knows. */
  readonly unknown: number;
  /** Available jobs of one step in one queue, and as many again over four queues and five steps. */
  readonly available: number;
  /** Pending nodes of runs in which nothing moves. */
  readonly blocked: number;
}

/** Who holds the leases of what runs. */
export const OWNER = "01900000-0000-7000-8000-00000000abcd";

/** The groups of runs, each with ids of its own: {@link runIdOf}. */
export const GROUPS = {
  finished: 1,
  finishedElsewhere: 2,
  scheduled: 3,
  due: 4,
  unknown: 5,
  available: 6,
  lanes: 7,
  running: 8,
  expired: 9,
  exhausted: 10,
  unactivated: 11,
  chains: 12,
  heads: 13,
  joins: 14,
  wide: 15,
  deep: 16,
  binding: 17,
  layers: 18,
  keyed: 19,
  blocked: 20,
  overdue: 21,
  cancelled: 22,
  failed: 23,
} as const;

export type Group = keyof typeof GROUPS;

/** The id of the n-th run (from 1) of a group; ascending in n. */
export function runIdOf(group: Group, n: number): string {
  return `01900000-0000-7000-8${GROUPS[group].toString(16).padStart(3, "0")}-${n.toString(16).padStart(12, "0")}`;
}

/** How many runs of a group there are, and how many nodes each has in a row. */
interface Length {
  readonly runs: number;
  readonly length: number;
}

/** How many runs of a group there are, and how many nodes each has side by side. */
interface Width {
  readonly runs: number;
  readonly width: number;
}

/** Counts of the groups whose size doesn't depend on the volume, and the shapes of their graphs. */
export interface Shapes {
  readonly due: number;
  readonly running: number;
  readonly expired: number;
  readonly exhausted: number;
  readonly unactivated: number;
  readonly keyed: number;
  readonly overdue: number;
  /** Recorded calls of each keyed job. */
  readonly recorded: number;
  /** Queues that are paused; none of the steps is in one. */
  readonly paused: number;
  /** Runs that have failed, older than all others. */
  readonly failed: number;
  readonly chains: Length;
  readonly heads: Width;
  readonly joins: Width;
  readonly wide: Width;
  readonly deep: Length;
  readonly binding: Width;
  readonly layers: Width;
  readonly cancelled: Width;
}

export const SHAPES: Shapes = {
  due: 1_000,
  running: 1_000,
  expired: 300,
  exhausted: 100,
  unactivated: 300,
  keyed: 1_000,
  overdue: 300,
  recorded: 20,
  failed: 100,
  paused: 100,
  chains: { runs: 300, length: 3 },
  heads: { runs: 40, width: 100 },
  joins: { runs: 10, width: 100 },
  wide: { runs: 1, width: 5_000 },
  deep: { runs: 20, length: 100 },
  binding: { runs: 2, width: 1_000 },
  layers: { runs: 20, width: 10 },
  cancelled: { runs: 1, width: 5_000 },
};

const nothingWide = { runs: 0, width: 1 };
const nothingLong = { runs: 0, length: 1 };

/** No rows but what is given. */
export const NO_SHAPES: Shapes = {
  due: 0,
  running: 0,
  expired: 0,
  exhausted: 0,
  unactivated: 0,
  keyed: 0,
  overdue: 0,
  recorded: 0,
  failed: 0,
  paused: 0,
  chains: nothingLong,
  heads: nothingWide,
  joins: nothingWide,
  wide: nothingWide,
  deep: nothingLong,
  binding: nothingWide,
  layers: nothingWide,
  cancelled: nothingWide,
};

export const NO_VOLUME: VolumeSizes = { finished: 0, scheduled: 0, unknown: 0, available: 0, blocked: 0 };

const id = (group: Group, n = "n"): string =>
  `('01900000-0000-7000-8${GROUPS[group].toString(16).padStart(3, "0")}-' || lpad(to_hex(${n}), 12, '0'))::uuid`;

/**
 * Fills the tables of a schema by set-based statements: every state that the engine's statements look for, among much that they
 * mustn't read. Rows are as the engine leaves them.
 */
export async function loadVolume(query: Query, sizes: VolumeSizes, shapes: Shapes = SHAPES): Promise<void> {
  await query("set synchronous_commit to off");
  for (const text of [...backgroundOf(sizes), ...states(shapes), ...graphs(shapes, sizes.blocked)]) await query(text);
  await query(`insert into cyclone_deps (bucket, run_id, upstream_key, node_key, node, upstream, data)
    select s.bucket, s.run_id, s.key, d.key, 'n' || d.key, s.node, true from cyclone_steps s cross join lateral unnest(s.downs) d(key)`);
  await query("reset synchronous_commit");
}

/** What a claim, a completion and a sweep mustn't read. */
function backgroundOf(sizes: VolumeSizes): string[] {
  const finished =
    "1 as attempts, 1 as lease_epoch, now() as started_at, now() as finished_at, '\"an output\"'::jsonb as output";
  const elsewhere = Math.floor(sizes.finished / 4);
  return [
    ...jobs("finished", sizes.finished - elsewhere, "completed", finished),
    ...jobs("finishedElsewhere", elsewhere, "completed", finished, 1),
    ...jobs(
      "scheduled",
      sizes.scheduled,
      "scheduled",
      "now() + interval '1 day' + n * interval '1 ms' as available_at",
    ),
    ...jobs("unknown", sizes.unknown, "available", "'unknown-' || n % 50 as step, now() as available_at"),
    ...jobs("available", sizes.available, "available", "now() + n * interval '1 microsecond' as available_at"),
    ...jobs(
      "lanes",
      sizes.available,
      "available",
      "'q' || n % 4 as queue, 's' || n % 5 as step, n % 3 as priority, now() + n * interval '1 microsecond' as available_at",
    ),
  ];
}

const leased = (expiry: string): string =>
  `'${OWNER}'::uuid as lease_owner, now() + ${expiry} as lease_expiry, 1 as lease_epoch, now() as started_at`;

/** What sweeps and outcomes move. */
function states(shapes: Shapes): string[] {
  return [
    ...jobs("due", shapes.due, "scheduled", "now() - interval '1 minute' + n * interval '1 ms' as available_at"),
    ...jobs("running", shapes.running, "running", leased("interval '1 hour'")),
    ...jobs("expired", shapes.expired, "running", leased("interval '-1 hour'")),
    ...jobs("exhausted", shapes.exhausted, "running", `${leased("interval '-2 hours'")}, 10 as reclaims`),
    ...jobs(
      "unactivated",
      shapes.unactivated,
      "completed",
      "true as unactivated, 1 as attempts, 1 as lease_epoch, now() - interval '1 minute' as finished_at",
    ),
    ...jobs("overdue", shapes.overdue, "pending", "1 as pending"),
    `update cyclone_runs set deadline = now() - interval '1 minute' where bucket = 0 and id between ${id("overdue", "0")} and ${id("overdue", String(shapes.overdue))}`,
    ...jobs("keyed", shapes.keyed, "pending", "null::jsonb as input"),
    `update cyclone_runs set idempotency_key = 'key-' || ('x' || right(id::text, 12))::bit(48)::bigint
     where bucket = 0 and id between ${id("keyed", "0")} and ${id("keyed", String(shapes.keyed))}`,
    `insert into cyclone_queues (bucket, name, paused) select 0, 'paused-' || n, true from generate_series(1, ${shapes.paused}) n on conflict do nothing`,
    `insert into cyclone_runs (bucket, id, kind, name, remaining, failed, state, finished_at, created_at, error)
     select 0, ${id("failed")}, 'step', 'noop', 0, 1, 'failed', now(), now() - interval '1 day', '{"name": "Error", "message": "no luck"}'
     from generate_series(1, ${shapes.failed}) n`,
    `insert into cyclone_attempts (bucket, run_id, key, epoch, attempt, worker, started_at, outcome, error)
     select 0, ${id("keyed")}, 0, e, e, '${OWNER}', now(), 'failed', '{"name": "Error", "message": "no luck"}'
     from generate_series(1, ${shapes.keyed}) n cross join generate_series(1, ${shapes.recorded}) e`,
  ];
}

/**
 * One-step runs. `columns` gives further columns of the step with their names; `n` counts from 1. A job that waits to be
 * activated has its run still running.
 */
function jobs(group: Group, count: number, state: string, columns: string, bucket = 0): string[] {
  const ended = state === "completed" && group !== "unactivated";
  const names = [...columns.matchAll(/ as (\w+)(?=,|$)/g)].map(([, name]) => name ?? "");
  const plain = { queue: "'default'", step: "'noop'", input: '\'{"url": "https://example.com"}\'::jsonb' };
  const rest = Object.entries(plain).filter(([name]) => !names.includes(name));
  return [
    `insert into cyclone_runs (bucket, id, kind, name, remaining, state, finished_at, created_at)
     select ${bucket}, ${id(group)}, 'step', 'noop', ${ended ? 0 : 1}, '${ended ? "completed" : "running"}', ${ended ? "now()" : "null"}, now()
     from generate_series(1, ${count}) n`,
    `insert into cyclone_steps (bucket, run_id, key, node, kind, state, ${[...rest.map(([name]) => name), ...names].join(", ")})
     select ${bucket}, ${id(group)}, 0, 'noop', 'step', '${state}', ${rest.map(([, value]) => value).join(", ")}, ${columns}
     from generate_series(1, ${count}) n`,
  ];
}

/** Runs of several nodes, whose upstreams are about to complete, or to be discarded. */
function graphs(shapes: Shapes, blocked: number): string[] {
  const { chains, heads, joins, wide, deep, binding, layers } = shapes;
  const line = (length: number): string => `case when k < ${length - 1} then array[k + 1] end`;
  const fan = (width: number): string =>
    `case when k = 0 then array(select generate_series(1, ${width})) when k <= ${width} then array[${width + 1}] end`;
  const fanState = (width: number): string =>
    `case when k = 0 then 'running' else 'pending' end, case when k > ${width} then ${width} else least(k, 1) end`;
  const layer = layers.width;
  return [
    ...runs(
      "chains",
      chains.runs,
      chains.length,
      "case when k = 0 then 'running' else 'pending' end, least(k, 1)",
      line(chains.length),
    ),
    ...runs(
      "deep",
      deep.runs,
      deep.length,
      "case when k = 0 then 'running' else 'pending' end, least(k, 1)",
      line(deep.length),
    ),
    ...runs("heads", heads.runs, heads.width + 2, fanState(heads.width), fan(heads.width)),
    ...runs("wide", wide.runs, wide.width + 2, fanState(wide.width), fan(wide.width)),
    // The head is done; the joins wait for all of the middle.
    ...runs(
      "joins",
      joins.runs,
      joins.width + 2,
      `case when k = 0 then 'completed' when k <= ${joins.width} then 'running' else 'pending' end, case when k > ${joins.width} then ${joins.width} else 0 end`,
      fan(joins.width),
    ),
    // Everything is done but the join, which is available and refers to each output.
    ...runs(
      "binding",
      binding.runs,
      binding.width + 2,
      `case when k > ${binding.width} then 'available' else 'completed' end, 0`,
      fan(binding.width),
    ),
    `update cyclone_steps set step = 'bind', refs = array(select generate_series(1, ${binding.width})), ref_paths = array_fill('{}'::text, array[${binding.width}])
     where bucket = 0 and run_id between ${id("binding", "0")} and ${id("binding", String(binding.runs))} and key > ${binding.width}`,
    // Three layers, each node of one the upstream of each node of the next.
    ...runs(
      "layers",
      layers.runs,
      3 * layer,
      `case when k < ${layer} then 'running' else 'pending' end, case when k < ${layer} then 0 else ${layer} end`,
      `case when k < ${2 * layer} then array(select generate_series((k / ${layer} + 1) * ${layer}, (k / ${layer} + 2) * ${layer} - 1)) end`,
    ),
    ...runs(
      "cancelled",
      shapes.cancelled.runs,
      shapes.cancelled.width + 2,
      "case when k = 0 then 'completed' else 'cancelled' end, 0",
      fan(shapes.cancelled.width),
    ),
    `update cyclone_runs set state = 'cancelled', remaining = 0, finished_at = now()
     where bucket = 0 and id between ${id("cancelled", "0")} and ${id("cancelled", String(shapes.cancelled.runs))}`,
    // Ten nodes behind one that is far from being done.
    ...runs(
      "blocked",
      Math.ceil(blocked / 10),
      11,
      "case when k = 0 then 'running' else 'pending' end, least(k, 1)",
      "case when k = 0 then array[1,2,3,4,5,6,7,8,9,10] end",
    ),
  ];
}

/** Runs of `nodes` nodes with keys `k` from 0; `moving` is their state and their count of open upstreams. */
function runs(group: Group, count: number, nodes: number, moving: string, downs: string): string[] {
  return [
    `insert into cyclone_runs (bucket, id, kind, name, remaining, result_key, result_node, result_path, input)
     select 0, ${id(group)}, 'workflow', '${group}', ${nodes}, ${nodes - 1}, 'n${nodes - 1}', '{}', '1' from generate_series(1, ${count}) n`,
    `insert into cyclone_steps (bucket, run_id, key, node, step, kind, input, state, pending, downs, lease_owner, lease_expiry, lease_epoch, started_at, available_at, finished_at, output)
     select 0, run_id, k, 'n' || k, 'noop', 'step', '1', state::cyclone_step_state, pending, downs,
       case when state = 'running' then '${OWNER}'::uuid end, case when state = 'running' then now() + interval '1 hour' end,
       case when state in ('running', 'completed') then 1 else 0 end, case when state in ('running', 'completed') then now() end,
       case when state <> 'pending' then now() end, case when state in ('completed', 'cancelled') then now() end, case when state = 'completed' then '"an output"'::jsonb end
     from (
       select ${id(group)} as run_id, k, ${downs} as downs, v.*
       from generate_series(1, ${count}) n cross join generate_series(0, ${nodes - 1}) k cross join lateral (values (${moving})) v(state, pending)
     ) x`,
    `update cyclone_runs r set remaining = x.open
     from (select s.run_id, count(*) filter (where s.state <> 'completed')::int as open from cyclone_steps s
       where s.bucket = 0 and s.run_id between ${id(group, "0")} and ${id(group, String(count))} group by s.run_id) x
     where r.bucket = 0 and r.id = x.run_id`,
  ];
}
