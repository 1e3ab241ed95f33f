import type { RunState } from "../../model/states.ts";
import { anyKey } from "../hidden-range.ts";
import type { Tables } from "../tables.ts";

/** What a page of runs may hold, and where it begins. Null: not asked for. */
export interface ListRunsParams {
  readonly bucket: number;
  /** The page begins with the first run that is older than this: its `created_at`, `infinity` for the newest, and its id. */
  readonly before: string;
  readonly beforeId: string;
  /** Where it ends at the latest: `created_at`, `-infinity` for the oldest. */
  readonly since: string;
  readonly states: readonly RunState[] | null;
  readonly kind: string | null;
  readonly name: string | null;
  readonly tags: readonly string[] | null;
  readonly error: string | null;
  readonly step: string | null;
  readonly queue: string | null;
  /** How many runs are looked at, so that no filter makes a statement longer. */
  readonly scan: number;
  readonly limit: number;
}

export interface ListedRunRow {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly tags: readonly string[] | null;
  /** Microseconds since 1970, which a number holds exactly: the order is finer than a Date's. */
  readonly created_us: number;
  readonly finished_ms: number | null;
  /** Its nodes that haven't ended. */
  readonly remaining: number;
  /** Without stack and causes. */
  readonly error: unknown;
  /** Whether it is asked for; else it is the last one that was looked at, and tells where to go on. */
  readonly matches: boolean;
  /** Its place among those that were looked at, from 1. */
  readonly place: number;
}

/** More nodes and item tasks than a run has. */
const NODES_MAX = 1_000_000;

/**
 * Runs by age, youngest first, read from an index in this order until the page is full or `scan` runs have been looked at. The last one
 * looked at comes back whether it matches or not. Payloads aren't touched; an error only of runs that match. `only` narrows the runs to those
 * of a partial index.
 *
 * Limits are hidden in sub-selects: of one that the planner can't see it expects a tenth of all rows to be wanted, so that reading an index in
 * order looks cheaper than reading and sorting everything, also where statistics say that there is next to nothing (docs/decisions/0002-plans.md).
 */
export const runListText = (t: Tables, only: string): string => `
select z.id, z.kind::text as kind, z.name, z.state::text as state, to_jsonb(z.tags) as tags,
  (extract(epoch from z.created_at) * 1000000)::float8 as created_us, (extract(epoch from z.finished_at) * 1000)::float8 as finished_ms,
  case when z.matches then z.error - 'stack' - 'causes' end as error, z.remaining, z.matches, z.place
from (
  select r.id, r.kind, r.name, r.state, r.tags, r.created_at, r.finished_at, r.error, r.remaining,
    row_number() over (order by r.created_at desc, r.id desc) as place,
    coalesce(
      ($5::text[] is null or r.state::text = any($5::text[]))
      and ($6::text is null or r.kind::text = $6::text)
      and ($7::text is null or r.name = $7::text)
      and ($8::text[] is null or r.tags @> $8::text[])
      and ($9::text is null
        or strpos(lower(concat_ws(' ', r.error ->> 'name', r.error ->> 'code', r.error ->> 'message', r.error ->> 'causes')), lower($9::text)) > 0)
      and case when $10::text is null and $11::text is null then true else (
        select true
        from (
          select s.step, s.queue
          from ${t.steps} s
          where s.bucket = $1::smallint and s.run_id = r.id and ${anyKey("s")}
          order by s.key, s.item
          limit (select ${NODES_MAX})
        ) n
        where ($10::text is null or n.step = $10::text) and ($11::text is null or n.queue = $11::text)
        limit 1
      ) end,
      false
    ) as matches
  from ${t.runs} r
  where r.bucket = $1::smallint and (r.created_at, r.id) < ($2::timestamptz, $3::uuid) and r.created_at >= $4::timestamptz${only}
  order by r.created_at desc, r.id desc
  limit (select $12::int)
) z
where z.matches or z.place = $12::int
order by z.created_at desc, z.id desc
limit $13::int`;

export const listRunsParams = (p: ListRunsParams): unknown[] => [
  p.bucket,
  p.before,
  p.beforeId,
  p.since,
  p.states,
  p.kind,
  p.name,
  p.tags,
  p.error,
  p.step,
  p.queue,
  p.scan,
  p.limit,
];

export const listRunsSample: ListRunsParams = {
  bucket: 0,
  before: "infinity",
  beforeId: "00000000-0000-0000-0000-000000000000",
  since: "-infinity",
  states: ["completed"],
  kind: "workflow",
  name: "ingest",
  tags: ["a"],
  error: "timeout",
  step: "fetch",
  queue: "default",
  scan: 1_000,
  limit: 50,
};
