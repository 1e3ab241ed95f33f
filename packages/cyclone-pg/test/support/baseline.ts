import { setTimeout as wait } from "node:timers/promises";
import type { Violation } from "./violation.ts";

type Query = (text: string) => Promise<{ rows: Record<string, unknown>[] }>;

/** What a database's sessions hold at a moment: one readable line each. */
export interface Baseline {
  readonly sessions: readonly string[];
  readonly locks: readonly string[];
  readonly prepared: readonly string[];
}

/** Takes down who is connected to the database, and what they hold; the asking session is left out. */
export async function takeBaseline(query: Query): Promise<Baseline> {
  const sessions = await lines(
    query,
    `select format('session of "%s" (%s, pid %s)', application_name, state, pid) as line
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  const locks = await lines(
    query,
    `select format('%s %s on %s by pid %s', l.mode, case when l.granted then 'held' else 'awaited' end,
       coalesce(l.relation::regclass::text, l.locktype), l.pid) as line
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where a.datname = current_database() and l.pid <> pg_backend_pid() and a.backend_type = 'client backend' and l.locktype <> 'virtualxid'`,
  );
  const prepared = await lines(
    query,
    "select format('prepared transaction %s', gid) as line from pg_prepared_xacts where database = current_database()",
  );
  return { sessions, locks, prepared };
}

/**
 * What there is more of than at the baseline, once everything was closed. Sessions end a moment after their sockets, so it looks
 * again until the time is up.
 */
export async function baselineViolations(query: Query, baseline: Baseline, withinMs = 5_000): Promise<Violation[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const now = await takeBaseline(query);
    const violations = (["sessions", "locks", "prepared"] as const).flatMap((kind) =>
      now[kind].length <= baseline[kind].length
        ? []
        : now[kind]
            .filter((line) => !baseline[kind].includes(line))
            .map((message) => ({ check: `baseline-${kind}`, message: `left behind: ${message}` })),
    );
    if (violations.length === 0 || performance.now() >= deadline) return violations;
    await wait(50);
  }
}

async function lines(query: Query, text: string): Promise<string[]> {
  const { rows } = await query(text);
  return rows.map((row) => String(row["line"]));
}
