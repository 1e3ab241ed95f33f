import type { Tables } from "../sql/tables.ts";

/**
 * Gives the planner statistics that don't deceive it, and freezes those of `bucket`.
 *
 * Without any, `bucket = $1` counts as 1/200 of a table: "all rows of the bucket" is then estimated as one row, read as the outer side of a
 * batch's join, and the batch turns quadratic (7 s instead of 0.1 for 5,000 downstream nodes). With later ones, a bucket that ANALYZE
 * happened to see empty is taken for one row. So a few rows are put into each bucket, analysed, and removed; `set statistics 0` keeps what
 * was seen then, whatever ANALYZE sees later. See docs/decisions/0002-plans.md.
 */
export function seedStatistics(t: Tables, bucketCount: number): string {
  // More than ten rows per bucket: else ANALYZE takes the number of buckets for one that grows with the table.
  const perBucket = Math.max(12, Math.ceil(240 / bucketCount));
  const rows = `generate_series(0, ${bucketCount - 1}) b(bucket) cross join generate_series(1, ${perBucket}) i(i)`;
  const tables = [t.runs, t.steps, t.deps, t.attempts, t.signals];
  return `
insert into ${t.runs} (bucket, id, kind, name, remaining)
select b.bucket, gen_random_uuid(), 'workflow', 'seed', 1 from ${rows};
insert into ${t.steps} (bucket, run_id, key, node, step, kind, state, available_at)
select b.bucket, gen_random_uuid(), i.i, 'seed', 'seed', 'step', 'available', statement_timestamp() from ${rows};
insert into ${t.deps} (bucket, run_id, upstream_key, node_key, node, upstream, data)
select b.bucket, gen_random_uuid(), i.i, i.i + 1, 'seed', 'seed', true from ${rows};
insert into ${t.attempts} (bucket, run_id, key, epoch, attempt, outcome)
select b.bucket, gen_random_uuid(), i.i, 1, 1, 'failed' from ${rows};
insert into ${t.signals} (bucket, run_id, name, id)
select b.bucket, gen_random_uuid(), 'seed', gen_random_uuid() from ${rows};
${tables.map((table) => `analyze ${table};\nalter table ${table} alter column bucket set statistics 0;\ndelete from ${table};`).join("\n")}`;
}
