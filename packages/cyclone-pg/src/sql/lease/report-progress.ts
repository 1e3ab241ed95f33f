import { costlyFalse } from "../costly-false.ts";
import { defineStatement } from "../statement.ts";

export interface ReportProgressParams {
  readonly bucket: number;
  readonly runIds: readonly string[];
  readonly keys: readonly number[];
  readonly items: readonly number[];
  readonly epochs: readonly number[];
  readonly fractions: readonly number[];
  readonly messages: readonly (string | null)[];
}

/** Writes how far handlers say they are, on the rows that are still theirs; rows that others hold are left out. */
export const reportProgress = defineStatement<ReportProgressParams, { reported: number }>({
  name: "report_progress",
  text: (t) => `
with x as materialized (
  select x.run_id, x.key, x.item, x.epoch, x.fraction, x.message
  from unnest((select $2::uuid[]), (select $3::int[]), (select $4::int[]), (select $5::int[]), (select $6::real[]), (select $7::text[]))
    x(run_id, key, item, epoch, fraction, message)
),
locked as materialized (
  select x.*
  from x
  cross join lateral (
    select 1
    from ${t.steps} s
    where s.bucket = $1::smallint and s.run_id = x.run_id and s.key = x.key and s.item = x.item
    for no key update skip locked
  ) z
),
reported as (
  update ${t.steps} s
  set progress = l.fraction, progress_message = l.message
  from locked l
  where s.bucket = $1::smallint and s.run_id = l.run_id and s.key = l.key and s.item = l.item
    and case when s.state = 'running' then s.lease_epoch = l.epoch else ${costlyFalse("l.key")} end
  returning 1
)
select count(*)::int as reported
from reported`,
  params: (p) => [p.bucket, p.runIds, p.keys, p.items, p.epochs, p.fractions, p.messages],
  sample: {
    bucket: 0,
    runIds: ["01890000-0000-7000-8000-000000000000"],
    keys: [0],
    items: [0],
    epochs: [1],
    fractions: [0.5],
    messages: ["half"],
  },
});
