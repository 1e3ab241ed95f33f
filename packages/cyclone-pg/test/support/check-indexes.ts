import type { Violation } from "./violation.ts";

type Query = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/**
 * Checks a schema's tables and B-trees with amcheck, as a superuser: that indexes are in order and hold every row, and that
 * rows are whole. For after crashes of the server.
 */
export async function checkIndexes(query: Query, schema = "public"): Promise<Violation[]> {
  await query("create extension if not exists amcheck");
  const { rows: indexes } = await query(
    `select c.oid, c.oid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
     where c.relnamespace = to_regnamespace($1) and a.amname = 'btree' and i.indisvalid order by name`,
    [schema],
  );
  const violations: Violation[] = [];
  for (const { oid, name } of indexes) {
    try {
      await query("select bt_index_parent_check($1::oid, true)", [oid]);
    } catch (error) {
      violations.push({ check: "index", message: `${String(name)}: ${String(error)}` });
    }
  }
  const { rows: broken } = await query(
    `select format('%s block %s: %s', c.oid::regclass, h.blkno, h.msg) as message
     from pg_class c cross join lateral verify_heapam(c.oid) h where c.relnamespace = to_regnamespace($1) and c.relkind = 'r'`,
    [schema],
  );
  return [...violations, ...broken.map((row) => ({ check: "table", message: String(row["message"]) }))];
}
