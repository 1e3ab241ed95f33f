import { type Check, notRetried, retriedRuns } from "./check.ts";

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
      from ${t.steps} s
      cross join lateral (
        select count(a.epoch) + (s.state = 'completed' and s.lease_epoch > 0)::int as n
        from ${t.attempts} a
        where a.bucket = s.bucket and a.run_id = s.run_id and a.key = s.key and a.item = s.item and a.outcome in ('failed', 'timed_out', 'discarded')
      ) c
      where s.attempts <> c.n and ${notRetried("s.run_id")}`,
  },
  {
    name: "call-unaccounted",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s (%s) was claimed %s times, but %s calls are recorded', s.run_id, s.node, s.state, s.lease_epoch, c.n) as message
      from ${t.steps} s
      cross join lateral (
        select count(a.epoch) + (s.state in ('running', 'completed', 'waiting') and s.lease_epoch > 0)::int as n
        from ${t.attempts} a
        where a.bucket = s.bucket and a.run_id = s.run_id and a.key = s.key and a.item = s.item
      ) c
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
