import { costlyFalse } from "../costly-false.ts";
import { handedOn } from "../handed-on.ts";
import type { Tables } from "../tables.ts";

export interface TrimRunsParams {
  readonly bucket: number;
  /** How long a run without a retention of its own is kept. */
  readonly retentionMs: number;
  /** How many runs are looked at. */
  readonly limit: number;
  /** Where the last batch ended. */
  readonly after: TrimCursor;
}

/** A run's place in the order of creation. */
export interface TrimCursor {
  /** Microseconds since 1970. */
  readonly createdAt: number;
  readonly id: string;
}

/** Before all runs. */
export const TRIM_START: TrimCursor = { createdAt: 0, id: "00000000-0000-0000-0000-000000000000" };

export interface TrimRunsRow {
  readonly trimmed: number;
  /** Runs that were looked at; fewer than `limit`: the end is reached. */
  readonly seen: number;
  readonly last_created_at: number;
  readonly last_id: string;
}

const NODE = ["run_id", "key", "item"];

/**
 * Deletes runs that ended longer ago than they are kept, with all that belongs to them, among the next `limit` in the order of creation.
 * Whoever holds a run (a retry) keeps it for now. Only runs with nothing left to count: their rows are nobody's to change, so that no lock
 * is waited for. The next run is asked for `limit` times, as the first by the index's order, and rows are deleted by their whole keys from lists:
 * asked for in one go the planner may read the tables.
 *
 * @param own whether runs with a retention of their own are meant, or all others
 */
export const trimText = (t: Tables, own: boolean): string => `
with recursive old(n, id, created_at) as (
  select 0, $5::uuid, to_timestamp(0) + $4::float8 / 1000 * interval '1 millisecond'
  union all
  select o.n + 1, r.id, r.created_at
  from old o
  cross join lateral (
    select r.id, r.created_at
    from ${t.runs} r
    where r.bucket = $1::smallint and (r.created_at, r.id) > (o.created_at, o.id)${own ? " and r.retention_ms is not null" : ""}
    order by r.created_at, r.id
    limit 1
  ) r
  where o.n < $3::int and o.created_at < statement_timestamp() - $2::float8 * interval '1 millisecond'
),
due as materialized (
  select d.id
  from old o
  cross join lateral (
    select r.id
    from ${t.runs} r
    where r.bucket = $1::smallint and r.id = o.id and r.parent_run_id is null and case
      when r.state <> 'running' and r.remaining = 0 and r.retention_ms is ${own ? "not null" : "null"}
      then r.finished_at < statement_timestamp() - coalesce(r.retention_ms, $2::float8) * interval '1 millisecond'
      else false
    end
    for update skip locked
  ) d
  where o.n > 0
),
node as materialized (
  select d.id as run_id, k.key, 0 as item
  from ${handedOn("due", ["id"], "d")}
  cross join lateral (
    select s.key as last
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = d.id
    order by s.key desc, s.item desc
    limit 1
  ) l
  cross join lateral generate_series(0, l.last) k(key)
),
edge as materialized (
  select n.run_id, e.upstream_key, e.node_key
  from ${handedOn("node", NODE, "n")}
  cross join lateral (
    select d.upstream_key, d.node_key
    from ${t.deps} d
    where d.bucket = $1::smallint and d.run_id = n.run_id and d.upstream_key = n.key
    offset 0
  ) e
),
call as materialized (
  select n.run_id, n.key, n.item, c.epoch
  from ${handedOn("node", NODE, "n")}
  cross join lateral (
    select a.epoch
    from ${t.attempts} a
    where a.bucket = $1::smallint and a.run_id = n.run_id and a.key = n.key and a.item = n.item
    offset 0
  ) c
),
calls as (
  delete from ${t.attempts} a
  using ${handedOn("call", [...NODE, "epoch"])}
  where a.bucket = $1::smallint and a.run_id = l.run_id and a.key = l.key and a.item = l.item and a.epoch = l.epoch
    and case when a.epoch >= 0 then true else ${costlyFalse("l.key")} end
),
edges as (
  delete from ${t.deps} d
  using ${handedOn("edge", ["run_id", "upstream_key", "node_key"])}
  where d.bucket = $1::smallint and d.run_id = l.run_id and d.upstream_key = l.upstream_key and d.node_key = l.node_key
    and case when d.upstream_key >= 0 then true else ${costlyFalse("l.upstream_key")} end
),
nodes as (
  delete from ${t.steps} s
  using ${handedOn("node", NODE)}
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.key >= 0 then true else ${costlyFalse("l.key")} end
),
runs as (
  delete from ${t.runs} r
  using ${handedOn("due", ["id"])}
  where r.bucket = $1::smallint and r.id = l.id and case when r.remaining = 0 then true else ${costlyFalse("l.id")} end
  returning 1
)
select (select count(*) from runs)::int as trimmed, o.n as seen, (extract(epoch from o.created_at) * 1000000)::float8 as last_created_at, o.id as last_id
from old o
order by o.n desc
limit 1`;

/** The parameters of both trims. */
export const trimParams = (p: TrimRunsParams): unknown[] => [
  p.bucket,
  p.retentionMs,
  p.limit,
  p.after.createdAt,
  p.after.id,
];

export const sampleTrim: TrimRunsParams = { bucket: 0, retentionMs: 1_000, limit: 100, after: TRIM_START };
