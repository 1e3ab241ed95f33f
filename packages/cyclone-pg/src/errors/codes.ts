/**
 * Every code that an error of Cyclone can carry, with the class that carries it and what it says in a few words.
 * `docs/errors.md` explains each of them in this order; a test keeps the two equal. A code never changes its meaning.
 */
export const ERROR_CODES = {
  CYCLONE_INVALID_OPTION: { error: "InvalidOptionError", meaning: "an option or argument isn't usable" },
  CYCLONE_INVALID_PAYLOAD: { error: "InvalidPayloadError", meaning: "a value can't be stored, or a schema refused it" },
  CYCLONE_INVALID_BUILD: { error: "InvalidBuildError", meaning: "a build did what a build can't do" },
  CYCLONE_FUTURE_MISUSED: { error: "FutureMisusedError", meaning: "a future was used as if it were its value" },
  CYCLONE_FOREIGN_FUTURE: { error: "ForeignFutureError", meaning: "a node or future belongs to another build" },
  CYCLONE_DUPLICATE_NODE: { error: "DuplicateNodeError", meaning: "two nodes of one build were given one name" },
  CYCLONE_IDEMPOTENCY_KEY_REUSED: {
    error: "IdempotencyKeyReusedError",
    meaning: "an idempotency key came again with another input",
  },
  CYCLONE_RUN_NOT_FOUND: { error: "RunNotFoundError", meaning: "no run has this id" },
  CYCLONE_RUN_NOT_COMPLETED: { error: "RunNotCompletedError", meaning: "the run has no result to give" },
  CYCLONE_RUN_NOT_RETRYABLE: { error: "RunNotRetryableError", meaning: "the run hasn't failed and wasn't cancelled" },
  CYCLONE_PRODUCER_ONLY: { error: "ProducerOnlyError", meaning: "a client without handlers was started" },
  CYCLONE_CLIENT_STOPPED: { error: "ClientStoppedError", meaning: "the client has been stopped" },
  CYCLONE_DRAIN_TIMEOUT: { error: "DrainTimeoutError", meaning: "drain() didn't come to an end in its time" },
  CYCLONE_PAUSE_TIMEOUT: { error: "PauseTimeoutError", meaning: "claims outlasted a pause's wait for them" },
  CYCLONE_SCHEMA_VERSION: { error: "SchemaVersionError", meaning: "the tables are missing, too old or too new" },
  CYCLONE_CONNECTION: { error: "ConnectionError", meaning: "no usable connection to Postgres" },
  CYCLONE_COMPLETION_TX: { error: "CompletionTxError", meaning: "the completion transaction was misused" },
  CYCLONE_AROUND: { error: "AroundError", meaning: "the client's middleware was misused" },
  CYCLONE_RUN_CANCELLED: { error: "RunCancelledError", meaning: "the run was cancelled" },
  CYCLONE_RUN_FAILED: { error: "RunFailedError", meaning: "the run has failed while this node was running" },
  CYCLONE_LEASE_LOST: { error: "LeaseLostError", meaning: "the node no longer belongs to this worker" },
  CYCLONE_BLOCKED: { error: "BlockedError", meaning: "a handler blocked the event loop for too long" },
  CYCLONE_TIMEOUT: { error: "TimeoutError", meaning: "a handler took longer than its timeout" },
  CYCLONE_SHUTDOWN: { error: "ShutdownError", meaning: "the worker is stopping" },
  CYCLONE_DEADLINE: { error: "DeadlineError", meaning: "the run wasn't finished by its deadline" },
  CYCLONE_MAX_RECLAIMS: { error: "MaxReclaimsError", meaning: "a node was reclaimed too often" },
} as const satisfies Record<string, { readonly error: string; readonly meaning: string }>;

/** The codes of `docs/errors.md`. */
export type ErrorCode = keyof typeof ERROR_CODES;
