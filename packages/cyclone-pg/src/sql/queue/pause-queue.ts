import { defineStatement } from "../statement.ts";

export interface QueueParams {
  readonly bucket: number;
  readonly name: string;
}

/**
 * Pauses a queue in one bucket; gives no row if it was paused. Claims decide by this row, in the same statement: those that began before this
 * one's commit don't see it, and have to be waited for.
 */
export const pauseQueue = defineStatement<QueueParams, { name: string }>({
  name: "pause_queue",
  text: (t) => `
insert into ${t.queues} as q (bucket, name, paused)
select $1::smallint, $2, true
on conflict (bucket, name) do update
set paused = true, updated_at = statement_timestamp()
where not q.paused
returning q.name`,
  params: (p) => [p.bucket, p.name],
  sample: { bucket: 0, name: "default" },
});
