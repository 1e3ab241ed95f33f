import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** `ctx.signal.reason` when the run was cancelled. Whatever the handler does now, its completion is refused. */
export class RunCancelledError extends CycloneError {
  declare readonly code: "CYCLONE_RUN_CANCELLED";
  /** The run whose handler is told. */
  readonly runId: string;

  constructor(runId: string, reason?: string) {
    super("CYCLONE_RUN_CANCELLED", `Run ${runId} was cancelled${reason === undefined ? "." : `: ${reason}`}`);
    this.runId = runId;
  }

  static {
    markError(this, "RunCancelledError");
  }
}

/** `ctx.signal.reason` when the run has failed meanwhile: another node was discarded in a `failFast` run. */
export class RunFailedError extends CycloneError {
  declare readonly code: "CYCLONE_RUN_FAILED";
  /** The run whose handler is told. */
  readonly runId: string;

  constructor(runId: string) {
    super("CYCLONE_RUN_FAILED", `Run ${runId} has failed, so this node's outcome no longer counts.`);
    this.runId = runId;
  }

  static {
    markError(this, "RunFailedError");
  }
}

/** `ctx.signal.reason` when the node no longer belongs to this worker: its lease ran out and it was reclaimed. */
export class LeaseLostError extends CycloneError {
  declare readonly code: "CYCLONE_LEASE_LOST";
  /** The run whose handler is told. */
  readonly runId: string;
  /** The node whose handler is told. */
  readonly node: string;

  constructor(runId: string, node: string, options?: ErrorOptions) {
    super(
      "CYCLONE_LEASE_LOST",
      `The lease on node "${node}" of run ${runId} is lost: another worker may have it, and nothing of this call is committed.`,
      options,
    );
    this.runId = runId;
    this.node = node;
  }

  static {
    markError(this, "LeaseLostError");
  }
}

/** `ctx.signal.reason` when the event loop was blocked for longer than `maxBlocked`, so that the lease was given up. */
export class BlockedError extends CycloneError {
  declare readonly code: "CYCLONE_BLOCKED";
  /** The run whose handler is told. */
  readonly runId: string;
  /** The node whose handler is told. */
  readonly node: string;
  /** For how long the event loop hadn't run, in milliseconds. */
  readonly blockedMs: number;

  constructor(runId: string, node: string, blockedMs: number) {
    super(
      "CYCLONE_BLOCKED",
      `The event loop was blocked for ${blockedMs} ms while node "${node}" of run ${runId} was running, so its lease was given up: ` +
        "move the computation to a worker thread, or raise `maxBlocked`.",
    );
    this.runId = runId;
    this.node = node;
    this.blockedMs = blockedMs;
  }

  static {
    markError(this, "BlockedError");
  }
}

/** `ctx.signal.reason`, and the attempt's error, when a handler took longer than its `timeout`. */
export class TimeoutError extends CycloneError {
  declare readonly code: "CYCLONE_TIMEOUT";
  /** The run whose handler is told. */
  readonly runId: string;
  /** The node whose handler is told. */
  readonly node: string;
  /** The limit that was exceeded, in milliseconds. */
  readonly timeoutMs: number;

  constructor(runId: string, node: string, timeoutMs: number) {
    super("CYCLONE_TIMEOUT", `Node "${node}" of run ${runId} took longer than its timeout of ${timeoutMs} ms.`);
    this.runId = runId;
    this.node = node;
    this.timeoutMs = timeoutMs;
  }

  static {
    markError(this, "TimeoutError");
  }
}

/** `ctx.signal.reason` when the worker stops and the handler didn't end in time. The node is given back without a charge. */
export class ShutdownError extends CycloneError {
  declare readonly code: "CYCLONE_SHUTDOWN";

  constructor(message = "The worker is stopping: this node is given back, and no attempt is charged.") {
    super("CYCLONE_SHUTDOWN", message);
  }

  static {
    markError(this, "ShutdownError");
  }
}
