import type { Check } from "./check.ts";

/** Nothing is left behind: what holds once faults have stopped for long enough. */
export const livenessChecks: readonly Check[] = [
  {
    name: "run-unfinished",
    mode: "liveness",
    sql: (t) => `
      select format('run %s (%s) is still running: %s', r.id, r.name,
        coalesce((select string_agg(s.node || ' ' || s.state, ', ' order by s.key) from ${t.steps} s
          where s.bucket = r.bucket and s.run_id = r.id and s.state not in ('completed', 'discarded', 'cancelled')), 'no live node')) as message
      from ${t.runs} r where r.state = 'running'`,
  },
  {
    name: "lease-expired",
    mode: "liveness",
    sql: (t) => `
      select format('run %s node %s is running, its lease expired at %s', s.run_id, s.node, s.lease_expiry) as message
      from ${t.steps} s where s.state = 'running' and s.lease_expiry < statement_timestamp()`,
  },
  {
    name: "step-unactivated",
    mode: "liveness",
    sql: (t) => `
      select format('run %s node %s is completed, but what follows it was never activated', s.run_id, s.node) as message
      from ${t.steps} s where s.unactivated`,
  },
];
