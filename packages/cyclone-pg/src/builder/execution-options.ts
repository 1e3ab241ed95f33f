import type { Backoff } from "../model/backoff.ts";
import type { QueueName } from "../model/cyclone-types.ts";
import type { Duration } from "../model/duration.ts";

/** How often and how long a node is tried: a step's or action's defaults for its nodes and jobs. */
export interface ExecutionOptions {
  /** Which workers may claim it. A node or a submit may say otherwise. @default "default" */
  queue?: QueueName;
  /** A whole number from -32768 to 32767, higher first. A node or a submit may say otherwise. @default 0 */
  priority?: number;
  /** Calls of the handler that may fail before the node is discarded. Reclaims and snoozes don't count. @default 25 */
  maxAttempts?: number;
  /** How long to wait after a failed attempt. @default `{ base: "1s", factor: 2, max: "1h", jitter: "half" }` */
  backoff?: Backoff;
  /** Limit of one call; the context's signal fires and the attempt fails. @default none */
  timeout?: Duration;
  /** Reclaims (crashes) that a node survives; one more discards it. `Infinity` for no bound. @default 10 */
  maxReclaims?: number;
}
