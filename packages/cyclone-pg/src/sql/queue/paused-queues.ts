import type { Tables } from "../tables.ts";

/**
 * The bucket's paused queues as an array, for a condition such as `not (l.queue = any (…))`: computed once per statement. Whatever reads it
 * locks the table of queues until its transaction ends, by which a pause knows whom to wait for.
 */
export const pausedQueues = (t: Tables): string =>
  `array(select q.name from ${t.queues} q where q.bucket = $1::smallint and q.paused)`;
