import { type Check, notRetried, retriedRuns, terminal } from "./check.ts";

/** Every legal move, on its own account: the engine's table of transitions isn't asked. */
const legalMoves = {
  pending: ["available", "scheduled", "waiting", "cancelled"],
  scheduled: ["available", "completed", "cancelled"],
  available: ["running", "cancelled"],
  running: ["completed", "waiting", "scheduled", "available", "discarded", "failed", "cancelled"],
  waiting: ["completed", "discarded", "cancelled"],
} as const;

const legalPairs = Object.entries(legalMoves)
  .flatMap(([from, moves]) => moves.map((to) => `('${from}', '${to}')`))
  .join(", ");

const auditCheck = (check: Omit<Check, "mode" | "needs">): Check => ({ mode: "safety", needs: "audit", ...check });

/** What the audit trail must not show; see `installAudit`. */
export const auditChecks: readonly Check[] = [
  auditCheck({
    name: "terminal-changed",
    ...retriedRuns,
    sql: (t) => `
      select format('run %s%s went from %s to %s at %s', a.run_id, ' node ' || a.node, a.old_state, a.new_state, a.at) as message
      from ${t.audit} a
      where a.old_state in ${terminal} and a.new_state <> a.old_state
        and (a.old_state = 'completed' or ${notRetried("a.run_id")})`,
  }),
  auditCheck({
    name: "illegal-move",
    sql: (t) => `
      select format('run %s%s went from %s to %s at %s', a.run_id, ' node ' || a.node, a.old_state, a.new_state, a.at) as message
      from ${t.audit} a
      where a.old_state <> a.new_state and a.old_state not in ${terminal} and (a.old_state, a.new_state) not in (values ${legalPairs})`,
  }),
  auditCheck({
    name: "epoch-order",
    sql: (t) => `
      select format('run %s node %s went from %s to %s with epoch %s after %s', a.run_id, a.node, a.old_state, a.new_state, a.lease_epoch, a.old_epoch) as message
      from ${t.audit} a
      where a.key is not null and a.old_state is not null
        and a.lease_epoch <> a.old_epoch + (a.new_state = 'running' and a.old_state <> 'running')::int`,
  }),
  auditCheck({
    name: "reclaim-charged",
    sql: (t) => `
      select format('run %s node %s was reclaimed with attempts %s after %s', a.run_id, a.node, a.attempts, a.old_attempts) as message
      from ${t.audit} a
      where a.reclaims > a.old_reclaims and a.attempts <> a.old_attempts`,
  }),
  auditCheck({
    name: "claimed-before-upstream",
    sql: (t) => `
      select format('run %s node %s was claimed (epoch %s) before its upstream %s was completed', a.run_id, a.node, a.lease_epoch, d.upstream) as message
      from ${t.audit} a
      join ${t.deps} d on d.run_id = a.run_id and d.node_key = a.key
      where a.new_state = 'running' and a.old_state <> 'running'
        and not exists (
          select from ${t.audit} u
          where u.run_id = d.run_id and u.key = d.upstream_key and u.item = 0 and u.new_state = 'completed' and u.seq < a.seq
        )`,
  }),
  auditCheck({
    name: "moved-after-run-ended",
    ...retriedRuns,
    sql: (t) => `
      select format('run %s was %s at %s, but its node %s went from %s to %s at %s', e.run_id, e.new_state, e.at, a.node, a.old_state, a.new_state, a.at) as message
      from ${t.audit} e
      join ${t.audit} a on a.run_id = e.run_id and a.key is not null and a.seq > e.seq
      where e.key is null and e.new_state in ${terminal} and a.new_state in ('running', 'completed') and a.old_state <> a.new_state
        and ${notRetried("e.run_id")}`,
  }),
];
