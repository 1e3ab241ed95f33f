import { defineStatement } from "../statement.ts";
import type { QueueParams } from "./pause-queue.ts";

/**
 * The transactions that are claiming just now, in any bucket, by their virtual ids. A claim locks both tables when it is parsed, before its
 * snapshot is taken, and until it has ended: one that isn't here any more, or wasn't yet, has seen or will see whatever was committed before this
 * statement. Nothing else reads the queues and writes steps in one transaction, so that a caller's submit, however long it stays
 * open, isn't among them. The tables' oids come from a row of the queue that was paused and from the schema that it is in.
 */
export const findClaiming = defineStatement<QueueParams, { transaction: string }>({
  name: "find_claiming",
  text: (t) => `
select l.virtualtransaction as transaction
from (
  select q.tableoid as queues, s.oid as steps
  from ${t.queues} q
  join pg_class c on c.oid = q.tableoid
  join pg_class s on s.relnamespace = c.relnamespace and s.relname = 'cyclone_steps'
  where q.bucket = $1::smallint and q.name = $2
) o
join pg_locks l on l.relation = o.queues and l.mode = 'AccessShareLock'
join pg_locks w on w.virtualtransaction = l.virtualtransaction and w.relation = o.steps and w.mode = 'RowExclusiveLock'
where l.database = w.database and l.database = (select d.oid from pg_database d where d.datname = current_database())`,
  params: (p) => [p.bucket, p.name],
  sample: { bucket: 0, name: "default" },
});
