type Query = (text: string, values?: unknown[]) => Promise<unknown>;

/** Takes the planner's statistics now, and keeps them: autovacuum leaves these tables alone from here on. */
export async function freshStatistics(query: Query, tables: readonly string[]): Promise<void> {
  await holdStatistics(query, tables);
  for (const table of tables) await query(`vacuum (analyze) ${table}`);
}

/** Makes the planner's statistics those of tables that nothing has ever looked at. Needs a superuser. */
export async function absentStatistics(query: Query, tables: readonly string[]): Promise<void> {
  await holdStatistics(query, tables);
  await query("delete from pg_statistic where starelid = any ($1::text[]::regclass[]::oid[])", [tables]);
  await query(
    `update pg_class set reltuples = -1, relpages = 0, relallvisible = 0
     where oid = any ($1::text[]::regclass[]::oid[]) or oid in (select indexrelid from pg_index where indrelid = any ($1::text[]::regclass[]::oid[]))`,
    [tables],
  );
}

/**
 * Statistics that were right once: they are taken when `worst` has brought the tables into the state that misleads most (as a
 * rule: empty), and kept while `load` brings them into the state that is measured.
 */
export async function staleStatistics(
  query: Query,
  tables: readonly string[],
  moments: { readonly worst: () => Promise<unknown>; readonly load: () => Promise<unknown> },
): Promise<void> {
  await moments.worst();
  await freshStatistics(query, tables);
  await moments.load();
}

/** Keeps autovacuum from changing the statistics behind the test's back. */
async function holdStatistics(query: Query, tables: readonly string[]): Promise<void> {
  for (const table of tables) await query(`alter table ${table} set (autovacuum_enabled = false)`);
}
