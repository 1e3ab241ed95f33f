import type { RunKind } from "../model/states.ts";
import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** The key belongs to a run that was started with another input. Nothing was written. */
export class IdempotencyKeyReusedError extends CycloneError {
  declare readonly code: "CYCLONE_IDEMPOTENCY_KEY_REUSED";
  /** What was started: a workflow, step or action. */
  readonly kind: RunKind;
  /** The name of the step, action or workflow. */
  readonly definition: string;
  /** The key that was used again. */
  readonly idempotencyKey: string;
  /** The run that has the key. */
  readonly runId: string;

  constructor(kind: RunKind, definition: string, idempotencyKey: string, runId: string) {
    super(
      "CYCLONE_IDEMPOTENCY_KEY_REUSED",
      `Run ${runId} of ${kind} "${definition}" has the idempotency key "${idempotencyKey}" with another input: ` +
        "use a key that stands for one input, or pass the same input again.",
    );
    this.kind = kind;
    this.definition = definition;
    this.idempotencyKey = idempotencyKey;
    this.runId = runId;
  }

  static {
    markError(this, "IdempotencyKeyReusedError");
  }
}
