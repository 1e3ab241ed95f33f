import { defineStatement } from "../statement.ts";

export interface FindKeyedRunsParams {
  readonly bucket: number;
  readonly kind: string;
  readonly name: string;
  readonly keys: readonly string[];
  /** JSON text of the input that was given with each key, null: none. */
  readonly inputs: readonly (string | null)[];
}

/**
 * The runs that hold idempotency keys, by the keys' places (from 1), and whether each was submitted with the same input (as JSON values compare).
 * All as texts: in a caller's transaction the driver's parsers are the application's.
 */
export const findKeyedRuns = defineStatement<FindKeyedRunsParams, { place: string; id: string; same: string }>({
  name: "find_keyed_runs",
  text: (t) => `
select x.ord::text as place, r.id::text as id,
  (x.input::jsonb is not distinct from case
    when r.kind = 'workflow' then r.input
    else (select s.input from ${t.steps} s where s.bucket = $1::smallint and s.run_id = r.id and s.key = 0 and s.item = 0)
  end)::text as same
from unnest((select $4::text[]), (select $5::text[])) with ordinality x(key, input, ord)
cross join lateral (
  select r.id, r.kind, r.input
  from ${t.runs} r
  where r.bucket = $1::smallint and r.kind = $2::${t.runKind} and r.name = $3 and r.idempotency_key = x.key
  offset 0
) r`,
  params: (p) => [p.bucket, p.kind, p.name, p.keys, p.inputs],
  sample: { bucket: 0, kind: "workflow", name: "ingest", keys: ["k"], inputs: ["1"] },
});
