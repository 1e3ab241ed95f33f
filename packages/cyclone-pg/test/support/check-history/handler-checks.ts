import type { HandlerEvent, HistoryEvent } from "../history.ts";
import type { Check } from "./check.ts";

const starts = (events: readonly HistoryEvent[]): readonly HandlerEvent[] =>
  events.filter((event): event is HandlerEvent => event.type === "start");

const called = `jsonb_to_recordset($1::jsonb) x(run uuid, node text, epoch int, pid int)`;

/** Handlers are called under a lease, once for each; and nothing is completed without a call. */
export const handlerChecks: readonly Check[] = [
  {
    name: "called-without-claim",
    mode: "safety",
    needs: "calls",
    records: starts,
    sql: (t) => `
      select format('run %s node %s was called with epoch %s by process %s, but was claimed %s times', x.run, x.node, x.epoch, x.pid, coalesce(s.lease_epoch, 0)) as message
      from ${called}
      left join ${t.steps} s on s.run_id = x.run and s.node = x.node and s.item = 0
      where coalesce(s.lease_epoch, 0) < coalesce(x.epoch, 1)`,
  },
  {
    name: "called-twice-under-one-lease",
    mode: "safety",
    needs: "calls",
    records: starts,
    sql: () => `
      select format('run %s node %s was called %s times with epoch %s, by processes %s', x.run, x.node, count(*), x.epoch, string_agg(x.pid::text, ', ')) as message
      from ${called}
      where x.epoch is not null
      group by x.run, x.node, x.epoch
      having count(*) > 1`,
  },
  {
    name: "called-more-than-claimed",
    mode: "safety",
    needs: "calls",
    records: starts,
    sql: (t) => `
      select format('run %s node %s was called %s times, but claimed %s times', s.run_id, s.node, c.n, s.lease_epoch) as message
      from (select x.run, x.node, count(*) as n from ${called} where x.epoch is null group by x.run, x.node) c
      join ${t.steps} s on s.run_id = c.run and s.node = c.node and s.item = 0
      where c.n > s.lease_epoch and s.lease_epoch > 0`,
  },
  {
    name: "completed-without-call",
    mode: "safety",
    reads: "after",
    needs: "calls",
    records: starts,
    sql: (t) => `
      select format('run %s node %s was completed with epoch %s, but not called with it', s.run_id, s.node, s.lease_epoch) as message
      from ${t.steps} s
      where s.state = 'completed' and s.kind in ('step', 'action')
        and not exists (select from ${called} where x.run = s.run_id and x.node = s.node and coalesce(x.epoch, s.lease_epoch) = s.lease_epoch)`,
  },
];
