import { defineStatement } from "../statement.ts";
import type { QueueParams } from "./pause-queue.ts";

/** Lets a paused queue of one bucket be claimed again; gives no row if it wasn't paused. */
export const resumeQueue = defineStatement<QueueParams, { name: string }>({
  name: "resume_queue",
  text: (t) => `
update ${t.queues} q
set paused = false, updated_at = statement_timestamp()
where q.bucket = $1::smallint and q.name = $2 and q.paused
returning q.name`,
  params: (p) => [p.bucket, p.name],
  sample: { bucket: 0, name: "default" },
});
