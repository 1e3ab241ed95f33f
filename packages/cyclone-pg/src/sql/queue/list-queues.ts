import { defineStatement } from "../statement.ts";

/** The queues that were ever paused in a bucket, and whether they are. */
export const listQueues = defineStatement<{ readonly bucket: number }, { name: string; paused: boolean }>({
  name: "list_queues",
  text: (t) => `
select q.name, q.paused
from ${t.queues} q
where q.bucket = $1::smallint`,
  params: (p) => [p.bucket],
  sample: { bucket: 0 },
});
