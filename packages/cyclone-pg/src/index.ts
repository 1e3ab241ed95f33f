/**
 * Declare steps, actions and workflows, submit runs, work and read.
 *
 * @module cyclone-pg
 */
export type { Action, ActionContract, ActionOptions } from "./builder/action.ts";
export type { Around } from "./builder/around.ts";
export type { Builder } from "./builder/builder.ts";
export type { ClientLike } from "./builder/client-port.ts";
export type { AbortReason, CompletionTx, CompletionTxOptions, Context } from "./builder/context.ts";
export { defineAction } from "./builder/define-action.ts";
export { defineStep } from "./builder/define-step.ts";
export { defineWorkflow } from "./builder/define-workflow.ts";
export type { Definition, InputOf, OutputOf } from "./builder/definition.ts";
export type { ExecutionOptions } from "./builder/execution-options.ts";
export { from } from "./builder/from.ts";
export type { Future, Node } from "./builder/future.ts";
export { type HandlerOf, implement } from "./builder/implement.ts";
export type { Input } from "./builder/input.ts";
export { lit } from "./builder/lit.ts";
export type { NodeOptions } from "./builder/node-options.ts";
export type { Plan, PlanNode } from "./builder/plan.ts";
export type {
  AttemptInfo,
  GraphEdge,
  NodeHandle,
  NodeInfo,
  Run,
  RunGraph,
  RunOutcome,
  WaitControl,
} from "./builder/run.ts";
export type { Instant, Queryable, StartManyOptions, StartOptions } from "./builder/start-options.ts";
export type { Handler, Step, StepContract, StepOptions } from "./builder/step.ts";
export type { Workflow, WorkflowOptions } from "./builder/workflow.ts";
export type { BulkCancelOptions, BulkCounts, BulkOptions } from "./client/bulk.ts";
export { type Client, createClient } from "./client/client.ts";
export type { ClientEvents, EventName } from "./client/events.ts";
export type { StepStats } from "./client/live-steps.ts";
export type { ClientOptions, Registrable } from "./client/options.ts";
export type { QueueInfo, Queues } from "./client/queues.ts";
export type { BulkFilter, RunFilter } from "./client/run-filter.ts";
export type { RunPage, RunSummary, Runs } from "./client/runs.ts";
export type { RecentRuns, Stats } from "./client/stats.ts";
export {
  BlockedError,
  LeaseLostError,
  RunCancelledError,
  RunFailedError,
  ShutdownError,
  TimeoutError,
} from "./errors/abort-errors.ts";
export { AroundError } from "./errors/around-error.ts";
export { ClientStoppedError } from "./errors/client-stopped-error.ts";
export type { ErrorCode } from "./errors/codes.ts";
export { CompletionTxError } from "./errors/completion-tx-error.ts";
export { ConnectionError } from "./errors/connection-error.ts";
export { CycloneError, isCycloneError } from "./errors/cyclone-error.ts";
export { DeadlineError } from "./errors/deadline-error.ts";
export { Discard } from "./errors/discard.ts";
export { DrainTimeoutError } from "./errors/drain-timeout-error.ts";
export { DuplicateNodeError } from "./errors/duplicate-node-error.ts";
export { ForeignFutureError } from "./errors/foreign-future-error.ts";
export { FutureMisusedError } from "./errors/future-misused-error.ts";
export { IdempotencyKeyReusedError } from "./errors/idempotency-key-reused-error.ts";
export { InvalidBuildError } from "./errors/invalid-build-error.ts";
export { InvalidOptionError } from "./errors/invalid-option-error.ts";
export { InvalidPayloadError, type PayloadIssue } from "./errors/invalid-payload-error.ts";
export { MaxReclaimsError } from "./errors/max-reclaims-error.ts";
export { PauseTimeoutError } from "./errors/pause-timeout-error.ts";
export { ProducerOnlyError } from "./errors/producer-only-error.ts";
export { RetryAfter } from "./errors/retry-after.ts";
export { RunNotCompletedError } from "./errors/run-not-completed-error.ts";
export { RunNotFoundError } from "./errors/run-not-found-error.ts";
export { RunNotRetryableError } from "./errors/run-not-retryable-error.ts";
export { SchemaVersionError } from "./errors/schema-version-error.ts";
export { Snooze } from "./errors/snooze.ts";
export type { Backoff, ExponentialBackoff } from "./model/backoff.ts";
export type { CycloneTypes, QueueName } from "./model/cyclone-types.ts";
export { type Duration, parseDuration } from "./model/duration.ts";
export type { JsonValue } from "./model/json.ts";
export type { Logger } from "./model/logger.ts";
export type { Schema } from "./model/schema.ts";
export type { AttemptOutcome, NodeKind, NodeState, RunKind, RunState } from "./model/states.ts";
export type { StoredError } from "./model/stored-error.ts";
