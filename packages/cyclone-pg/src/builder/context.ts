import type { PoolClient } from "pg";
import type {
  BlockedError,
  LeaseLostError,
  RunCancelledError,
  RunFailedError,
  ShutdownError,
  TimeoutError,
} from "../errors/abort-errors.ts";
import type { Logger } from "../model/logger.ts";

/** What a handler gets besides its input. */
export interface Context {
  /** The id of the run: a UUIDv7. */
  readonly runId: string;
  /** The node's name, unique in the run. */
  readonly node: string;
  /** The name of the step or action. */
  readonly step: string;
  /** From 1; snoozes and reclaims don't raise it. */
  readonly attempt: number;
  /** Leases lost and calls interrupted since the last recorded outcome. */
  readonly reclaims: number;
  /** How often the node has snoozed so far. */
  readonly snoozes: number;
  /** `runId/node`, stable over retries and reclaims: the key for effects outside Postgres. */
  readonly idempotencyKey: string;
  /** The `traceparent` that the run was started with. */
  readonly traceparent: string | undefined;
  /** When the run must have ended, by the database's clock; `undefined`: it has no deadline. */
  readonly deadline: Date | undefined;
  /** Fires when this call's outcome no longer counts, or should end soon; `signal.reason` is an {@link AbortReason}. */
  readonly signal: AbortSignal;
  /** Goes to the client's logger, with the run, node and attempt as fields. */
  readonly log: Logger;
  /**
   * The transaction that commits with this completion: what is written on it is exactly-once. Begun on the first call, the
   * same one afterwards; rolled back if the handler throws or the lease is lost.
   * @param options count on the first call only
   * @throws the abort's reason once the signal has fired for a lost lease, a cancel or a shutdown
   * @throws CompletionTxError (`CYCLONE_COMPLETION_TX`) once the handler has settled
   * @throws ConnectionError (`CYCLONE_CONNECTION`) if no connection for it is free within a minute
   */
  completionTx(options?: CompletionTxOptions): Promise<CompletionTx>;
  /**
   * How far the handler is, from 0 to 1, for whoever looks at the run. Best effort: the last value is written with the next
   * renewal of the lease. Of a message the first 1,024 bytes.
   */
  progress(fraction: number, message?: string): void;
}

/** Options of {@link Context.completionTx}. */
export interface CompletionTxOptions {
  /** @default "read committed" */
  isolation?: "read committed" | "repeatable read" | "serializable";
}

/**
 * A `pg` client inside the completion transaction; bind Drizzle, Kysely, Knex, Prisma or TypeORM to it. BEGIN, COMMIT and
 * ROLLBACK on it act on a savepoint; `release()` does nothing.
 */
export interface CompletionTx extends PoolClient {}

/** Why `ctx.signal` fired; test its `code`. */
export type AbortReason =
  | RunCancelledError
  | RunFailedError
  | LeaseLostError
  | BlockedError
  | TimeoutError
  | ShutdownError;
