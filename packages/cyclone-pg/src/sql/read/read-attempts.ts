import { defineStatement } from "../statement.ts";

export interface ReadAttemptsParams {
  readonly bucket: number;
  readonly runId: string;
  readonly node: string;
  readonly limit: number;
}

/** All but `worker` and `error` are null together, in the one row of a node that has no recorded calls. */
export interface ReadAttemptsRow {
  readonly epoch: number | null;
  readonly attempt: number | null;
  readonly worker: string | null;
  readonly started_ms: number | null;
  readonly finished_ms: number | null;
  readonly outcome: string | null;
  readonly error: unknown;
}

/** The newest recorded calls of one node, by its name, newest first; no row at all if there is no such node. */
export const readAttempts = defineStatement<ReadAttemptsParams, ReadAttemptsRow>({
  name: "read_attempts",
  text: (t) => `
select a.epoch, a.attempt, a.worker, (extract(epoch from a.started_at) * 1000)::float8 as started_ms,
  (extract(epoch from a.finished_at) * 1000)::float8 as finished_ms, a.outcome::text as outcome, a.error
from (
  select s.run_id, s.key, s.item
  from ${t.steps} s
  where s.bucket = $1::smallint and s.run_id = $2::uuid and s.node = $3
  order by s.key, s.item
  limit 1
) n
left join lateral (
  select a.epoch, a.attempt, a.worker, a.started_at, a.finished_at, a.outcome, a.error
  from ${t.attempts} a
  where a.bucket = $1::smallint and a.run_id = n.run_id and a.key = n.key and a.item = n.item
  order by a.epoch desc
  limit $4::int
) a on true
order by a.epoch desc`,
  params: (p) => [p.bucket, p.runId, p.node, p.limit],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000", node: "fetch", limit: 1_000 },
});
