import type { QueueName } from "../model/cyclone-types.ts";
import type { Duration } from "../model/duration.ts";

/** The little that a transaction must offer; a `pg` client does, and `cyclone-pg/orm` makes it of an ORM's transaction. */
export interface Queryable {
  /** Sends one statement in the open transaction; what it rejects with reaches the caller of the submit unchanged. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it; rows are as the statement says
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount?: number | null }>;
}

/** A moment: a `Date`, or an ISO 8601 text with a zone. The database's clock decides when it has come. */
export type Instant = Date | string;

/** Options of a submit or enqueue. */
export interface StartOptions {
  /**
   * Insert inside this open transaction: the run exists if it commits. A `pg` client in a transaction, or what a function of
   * `cyclone-pg/orm` makes of an ORM's. @default a transaction of its own
   */
  tx?: Queryable;
  /** A second start of the same definition with the same key gives the first run. 1 to 255 characters. @default none */
  idempotencyKey?: string;
  /** Not before this moment; not together with `delay`. @default at once */
  startAt?: Instant;
  /** Not before this much later, by the database's clock. @default at once */
  delay?: Duration;
  /** For finding runs; 1 to 255 characters each. @default none */
  tags?: readonly string[];
  /** For all nodes that don't say otherwise. @default the step's */
  priority?: number;
  /** For all nodes that don't say otherwise. @default the step's */
  queue?: QueueName;
  /** How long the run is kept after its end. @default the workflow's, else the client's */
  retention?: Duration;
  /**
   * When the run must have ended: a moment, or a {@link Duration} after the start, by the database's clock. Then what hasn't ended is
   * cancelled, and the run fails with `CYCLONE_DEADLINE`, or with the error that it has. @default none
   */
  deadline?: Instant | number;
  /** The span that starts the run, as the header of W3C Trace Context; handlers read it as `ctx.traceparent`. @default none */
  traceparent?: string;
}

/** The options of many starts, shared; only the key is per input. */
export interface StartManyOptions<In> extends Omit<StartOptions, "idempotencyKey"> {
  /** The key of each input, 1 to 255 characters; one that comes twice makes one run. @default none */
  idempotencyKey?: (input: In, index: number) => string;
}
