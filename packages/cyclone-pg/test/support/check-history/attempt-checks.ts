import { type Check, type CheckedTables, notRetried, retriedRuns } from "./check.ts";

/** Steps with the number of their recorded calls. */
const withCalls = (t: CheckedTables, where: string): string => `(
        select s.*, coalesce(a.n, 0) as calls
        from ${t.steps} s
        left join (select bucket, run_id, key, item, count(*) as n from ${t.attempts} ${where} group by bucket, run_id, key, item) a
          using (bucket, run_id, key, item)
      ) s`;

/** Calls are charged and counted as they ended, and leases are where they belong. */
export const attemptChecks: readonly Check[] = [
  {
    name: "reclaims-over-max",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s was reclaimed %s times, at most %s are allowed', s.run_id, s.node, s.reclaims, s.max_reclaims) as message
      from ${t.steps} s where s.reclaims > s.max_reclaims`,
  },
  {
    name: "attempts-over-max",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s has %s attempts, at most %s are allowed', s.run_id, s.node, s.attempts, s.max_attempts) as message
      from ${t.steps} s where s.attempts > s.max_attempts`,
  },
  {
    // An uncharged outcome (a reclaim, a snooze, an interruption) that raised the attempts shows here.
    name: "attempts-recount",
    mode: "safety",
    ...retriedRuns,
    sql: (t) => `
      select format('run %s node %s (%s) has attempts %s, its recorded calls give %s', s.run_id, s.node, s.state, s.attempts, c.n) as message
      from ${withCalls(t, "where outcome in ('failed', 'timed_out', 'discarded')")}
      cross join lateral (select s.calls + (s.state = 'completed' and s.lease_epoch > 0)::int as n) c
      where s.attempts <> c.n and ${notRetried("s.run_id")}`,
  },
  {
    name: "call-unaccounted",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s (%s) was claimed %s times, but %s calls are recorded', s.run_id, s.node, s.state, s.lease_epoch, c.n) as message
      from ${withCalls(t, "")}
      cross join lateral (select s.calls + (s.state in ('running', 'completed', 'waiting') and s.lease_epoch > 0)::int as n) c
      where s.lease_epoch <> c.n`,
  },
  {
    name: "lease-columns",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s is %s with lease owner %s and expiry %s', s.run_id, s.node, s.state, s.lease_owner, s.lease_expiry) as message
      from ${t.steps} s
      where (s.state = 'running') <> (s.lease_owner is not null) or (s.state = 'running') <> (s.lease_expiry is not null)`,
  },
];
