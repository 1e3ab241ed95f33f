import { costlyFalse } from "../costly-false.ts";
import { anyPriority } from "../hidden-range.ts";
import { type Isolation, isolated, NOTHING_ISOLATED } from "../isolation.ts";
import { pausedQueues } from "../queue/paused-queues.ts";
import { defineStatement } from "../statement.ts";

/** Up to so many references are bound without asking for their size first. */
const FEW_REFERENCES = 64;

export interface ClaimStepsParams {
  readonly bucket: number;
  /** One lane per (queue, step) that this worker serves; `quotas` repeats the queue's quota, `sole` says that the queue has one lane. */
  readonly queues: readonly string[];
  readonly steps: readonly string[];
  readonly quotas: readonly number[];
  readonly sole: readonly boolean[];
  /** Only what has been available since then, by lane; `-infinity`: all. */
  readonly since: readonly string[];
  readonly limit: number;
  readonly owner: string;
  readonly leaseMs: number;
  /** Bound inputs of more bytes (as stored) aren't read: the step is to be discarded. 0: none is, however few references it has. */
  readonly inputBytesMax: number;
  readonly isolation: Isolation;
}

/** A claimed step with what its handler needs. */
export interface ClaimedRow {
  /** How many steps were seen that this claim could take, with several lanes: fewer rows mean that others were quicker. */
  readonly seen: number;
  /** When it was asked, by the database's clock, in milliseconds since 1970, and how long it took from then to this row. */
  readonly asked_ms: number;
  readonly took_ms: number;
  readonly run_id: string;
  readonly key: number;
  readonly item: number;
  readonly node: string;
  readonly step: string;
  readonly queue: string;
  readonly epoch: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly reclaims: number;
  readonly max_reclaims: number | null;
  readonly snoozes: number;
  readonly timeout_ms: number | null;
  readonly traceparent: string | null;
  /** The run's, in milliseconds since 1970. */
  readonly deadline_ms: number | null;
  /** How long it was available. */
  readonly waited_ms: number;
  readonly has_input: boolean;
  readonly input: unknown;
  /** The references together are larger than `inputBytesMax`, and weren't read. */
  readonly oversized: boolean;
  /** One list per reference: empty if the path misses or there is no output, else the value. */
  readonly outputs: readonly (readonly unknown[])[] | null;
}

/** What comes back when nothing was claimed, so that the rest is told all the same. */
export type NothingClaimed = {
  readonly [Column in keyof ClaimedRow]: Column extends "seen" | "asked_ms" | "took_ms" ? number : null;
};

/**
 * Leases up to `limit` available steps to a worker, each with the outputs its input refers to. Never waits on a lock.
 *
 * The order is strict within a queue (priority, then how long it is available) though each step name is a lane of its own:
 * `peek` looks at the best rows of each lane without locking, `take` says how many of the queue's best are in each lane, and
 * only so many are locked. Rows that others hold are skipped within the lane, so contention costs order, never work.
 * A paused queue has no lanes. A queue full of steps that this worker doesn't know isn't touched. The update looks rows up by their whole key, and its state
 * guard is hidden in a CASE: seen by the planner it would make it walk the partial index of all available rows. What no row should
 * reach is {@link costlyFalse}.
 */
export const claimSteps = defineStatement<ClaimStepsParams, ClaimedRow | NothingClaimed>({
  name: "claim_steps",
  text: (t) => `
with lane as materialized (
  select l.queue, l.step, l.quota, l.sole, l.since, l.n
  from unnest((select $2::text[]), (select $3::text[]), (select $4::int[]), (select $5::boolean[]), (select $12::timestamptz[]))
    with ordinality l(queue, step, quota, sole, since, n)
  where not (l.queue = any (${pausedQueues(t)}))
),
peek as materialized (
  select l.n, l.quota, row_number() over (partition by l.queue order by p.priority desc, p.available_at) as place
  from lane l
  cross join lateral (
    select s.priority, s.available_at
    from ${t.steps} s
    where s.bucket = $1::smallint and s.queue = l.queue and s.step = l.step and s.state = 'available'
      and s.available_at >= l.since
      and ${anyPriority("s")} and ${isolated("$10", "$11")}
    order by s.priority desc, s.available_at
    limit l.quota
  ) p
  where not l.sole
),
take as materialized (
  select n, count(*)::int as size
  from peek
  where place <= quota
  group by n
),
picked as materialized (
  select c.run_id, c.key, c.item
  from (
    select l.queue, l.step, l.since, case when l.sole then l.quota else (select k.size from take k where k.n = l.n) end as size
    from lane l
    order by l.n
  ) l
  cross join lateral (
    select s.run_id, s.key, s.item
    from ${t.steps} s
    where s.bucket = $1::smallint and s.queue = l.queue and s.step = l.step and s.state = 'available'
      and s.available_at >= l.since
      and ${anyPriority("s")} and ${isolated("$10", "$11")}
    order by s.priority desc, s.available_at
    limit coalesce(l.size, 0)
    for no key update skip locked
  ) c
  limit $6::int
),
claimed as (
  update ${t.steps} s
  set state = 'running', lease_epoch = s.lease_epoch + 1, lease_owner = $7::uuid,
    lease_expiry = statement_timestamp() + $8::float8 * interval '1 millisecond', started_at = statement_timestamp()
  from picked p
  where s.bucket = $1::smallint and s.run_id = p.run_id and s.key = p.key and s.item = p.item
    and case when s.state = 'available' then true else ${costlyFalse("p.key")} end
  returning s.run_id, s.key, s.item, s.node, s.step, s.queue, s.lease_epoch, s.attempts, s.max_attempts, s.reclaims, s.max_reclaims, s.snoozes,
    s.timeout_ms, s.traceparent, s.has_deadline, s.priority, s.available_at, s.input, s.refs, s.ref_paths
),
sized as materialized (
  select c.*,
    -- A few references can't be too large, since each output is limited by itself.
    case when cardinality(c.refs) > case when $9::float8 > 0 then ${FEW_REFERENCES} else 0 end then (
      select sum((
        select pg_column_size(u.output)
        from ${t.steps} u
        where u.bucket = $1::smallint and u.run_id = c.run_id and u.key = e.key and u.item = 0
      ))
      from unnest(c.refs) e(key)
    ) > $9::float8 else false end as oversized
  from claimed c
  where ${anyPriority("c")}
)
select z.seen, (extract(epoch from statement_timestamp()) * 1000)::float8 as asked_ms,
  (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took_ms,
  c.run_id, c.key, c.item, c.node, c.step, c.queue, c.lease_epoch as epoch, c.attempts, c.max_attempts, c.reclaims, c.max_reclaims, c.snoozes,
  c.timeout_ms, c.traceparent,
  case when c.has_deadline then (
    select (extract(epoch from r.deadline) * 1000)::float8
    from ${t.runs} r
    where r.bucket = $1::smallint and r.id = c.run_id
  ) end as deadline_ms,
  (extract(epoch from statement_timestamp() - c.available_at) * 1000)::float8 as waited_ms, c.input is not null as has_input, c.input, coalesce(c.oversized, false) as oversized,
  case when c.refs is not null and c.oversized is not true then (
    select jsonb_agg(case when v.output is null then '[]'::jsonb else jsonb_build_array(v.output) end order by v.i)
    from (
      select e.i, (
        select case when e.path = '{}' then u.output else u.output #> e.path::text[] end
        from ${t.steps} u
        where u.bucket = $1::smallint and u.run_id = c.run_id and u.key = e.key and u.item = 0
      ) as output
      from unnest(c.refs, c.ref_paths) with ordinality e(key, path, i)
      offset 0
    ) v
  ) end as outputs
from (select coalesce(sum(size), 0)::int as seen from take) z left join sized c on true
order by c.priority desc, c.available_at, c.run_id, c.key, c.item`,
  params: (p) => [
    p.bucket,
    p.queues,
    p.steps,
    p.quotas,
    p.sole,
    p.limit,
    p.owner,
    p.leaseMs,
    p.inputBytesMax,
    p.isolation.only,
    p.isolation.excluded,
    p.since,
  ],
  sample: {
    bucket: 0,
    queues: ["default", "default"],
    steps: ["fetch", "save"],
    quotas: [10, 10],
    sole: [false, false],
    since: ["-infinity", "-infinity"],
    limit: 10,
    owner: "01890000-0000-7000-8000-000000000000",
    leaseMs: 30_000,
    inputBytesMax: 67_108_864,
    isolation: NOTHING_ISOLATED,
  },
});
