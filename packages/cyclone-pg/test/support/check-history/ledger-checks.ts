import type { Check } from "./check.ts";

/**
 * Creates the business table that handlers write through their completionTx. It has no unique constraint, which would hide
 * the bug it is there to show.
 */
export async function createLedger(query: (text: string) => Promise<unknown>, table = "ledger"): Promise<void> {
  await query(
    `create table ${table} (run_id uuid not null, node text not null, epoch int not null, n int not null default 1)`,
  );
}

/** The ledger has one row of a completed writer, with its epoch, and none of any other node; `$1` names the steps that write. */
export const ledgerChecks = (steps: readonly string[] | undefined): readonly Check[] => {
  const writers =
    steps === undefined
      ? "s.kind = 'action'"
      : "s.step in (select x.step from jsonb_to_recordset($1::jsonb) x(step text))";
  const records = steps === undefined ? {} : { records: () => steps.map((step) => ({ step })) };
  return [
    {
      name: "ledger-count",
      mode: "safety",
      needs: "ledger",
      ...records,
      sql: (t) => `
        select format('run %s node %s is %s, and has %s ledger rows (epochs %s)', s.run_id, s.node, s.state, coalesce(l.n, 0), l.epochs) as message
        from ${t.steps} s
        left join (
          select l.run_id, l.node, count(*) as n, string_agg(l.epoch::text, ', ' order by l.epoch) as epochs from ${t.ledger} l group by l.run_id, l.node
        ) l on l.run_id = s.run_id and l.node = s.node
        where coalesce(l.n, 0) <> (s.state = 'completed' and ${writers})::int`,
    },
    {
      name: "ledger-epoch",
      mode: "safety",
      needs: "ledger",
      sql: (t) => `
        select format('run %s node %s was completed with epoch %s, its ledger row has %s', s.run_id, s.node, s.lease_epoch, l.epoch) as message
        from (select run_id, node, min(epoch) as epoch from ${t.ledger} group by run_id, node having count(*) = 1) l
        join ${t.steps} s on s.run_id = l.run_id and s.node = l.node
        where s.state = 'completed' and l.epoch <> s.lease_epoch`,
    },
    {
      name: "ledger-orphan",
      mode: "safety",
      needs: "ledger",
      sql: (t) => `
        select format('a ledger row of run %s node %s, which doesn''t exist', l.run_id, l.node) as message
        from ${t.ledger} l
        where not exists (select from ${t.steps} s where s.run_id = l.run_id and s.node = l.node)`,
    },
  ];
};
