import type { Around } from "../../builder/around.ts";
import { bindInput } from "../../builder/bind-input.ts";
import type { DefinitionRuntime } from "../../builder/definition.ts";
import { isConnectionFailure, isInterruption } from "../../db/database-errors.ts";
import type { ClaimedStep } from "../../engine/claim/claimed-step.ts";
import { type CallEnd, decideFailure } from "../../engine/fail/decide-failure.ts";
import type { Lease } from "../../engine/lease.ts";
import type { Outcome } from "../../engine/outcome.ts";
import { ShutdownError, TimeoutError } from "../../errors/abort-errors.ts";
import { InvalidPayloadError } from "../../errors/invalid-payload-error.ts";
import { encodePayload } from "../../model/payload.ts";
import { validate } from "../../model/schema.ts";
import { type LongTimeout, setLongTimeout } from "../long-timeout.ts";
import type { ActiveCall } from "./active-call.ts";
import { callAround } from "./call-around.ts";
import { type ContextEnvironment, HandlerContext } from "./handler-context.ts";

export interface CallEnvironment extends ContextEnvironment {
  readonly maxPayloadBytes: number;
  readonly maxInputBytes: number;
  readonly around: Around | undefined;
  /** Whether a COMMIT whose reply was lost has been carried out; waits until that is certain. */
  readonly lookUpCommit: (lease: Lease) => Promise<boolean>;
  /** The outcome that is to be recorded; `undefined`: the lease is lost, there is nothing to record. */
  readonly onOutcome: (call: ActiveCall, outcome: Outcome | undefined) => void;
  /** The handler itself has ended, which may be later than its outcome. */
  readonly onSettled: (call: ActiveCall) => void;
  /** The handler ignores that its signal has fired and keeps its slot. */
  readonly onStuck: (call: ActiveCall) => void;
}

/** How long a handler may take to end after its signal has fired, before its outcome is recorded without it. */
const TIMEOUT_GRACE_MS = 5_000;
const SHUTDOWN_GRACE_MS = 1_000;

/** Calls a handler and sees to it that exactly one outcome follows, also if the handler never ends. */
export function runCall(call: ActiveCall, definition: DefinitionRuntime, environment: CallEnvironment): void {
  let done = false;
  let grace: NodeJS.Timeout | undefined;
  let stuck: NodeJS.Timeout | undefined;
  const timeout = startTimeout(call, definition);
  const finish = (outcome: Outcome | undefined): void => {
    if (done) return;
    done = true;
    timeout?.clear();
    clearTimeout(grace);
    environment.onOutcome(call, outcome);
  };
  const force = (reason: unknown): void => {
    if (done || call.recording) return;
    call.abandonTx(reason);
    environment.onStuck(call);
    finish(forcedOutcome(call, reason, definition));
  };
  call.onAbort((reason) => {
    if (done) return undefined;
    if (call.forfeited) {
      finish(undefined);
      stuck = setTimeout(() => environment.onStuck(call), TIMEOUT_GRACE_MS);
      stuck.unref();
      return undefined;
    }
    grace = setTimeout(() => force(reason), reason instanceof TimeoutError ? TIMEOUT_GRACE_MS : SHUTDOWN_GRACE_MS);
    return undefined;
  });
  void evaluate(call, definition, environment)
    .then((result) => {
      call.settled = true;
      clearTimeout(stuck);
      return done ? undefined : settle(call, result, definition, environment);
    })
    .then((outcome) => finish(call.forfeited ? undefined : outcome))
    .finally(() => environment.onSettled(call));
}

type Evaluation = { readonly kind: "returned"; readonly output: string | null } | CallEnd;

/** Binds the input, calls the handler, encodes what it returned. Never rejects. */
async function evaluate(
  call: ActiveCall,
  definition: DefinitionRuntime,
  environment: CallEnvironment,
): Promise<Evaluation> {
  const { step } = call;
  if (step.oversized) return { kind: "unstorable", thrown: oversized(step.node, environment.maxInputBytes) };
  const ctx = new HandlerContext(call, environment);
  let output: string | null = null;
  let unstorable: unknown;
  const handle = async (input: unknown): Promise<unknown> => {
    const value = await definition.handler?.(ctx, input);
    refuseLate(call);
    if (definition.kind === "action") return value;
    const what = `the output of node "${step.node}"`;
    const { output: schema } = definition.options;
    const valid = schema === undefined ? value : await validate(schema, value, what);
    try {
      // Here already, so that nothing that a middleware does with the value changes what is stored.
      output = encodePayload(valid, what, environment.maxPayloadBytes);
    } catch (thrown) {
      unstorable = thrown;
      throw thrown;
    }
    return value;
  };
  try {
    const input = await inputOf(step, definition);
    if (environment.around === undefined) await handle(input);
    else await callAround(environment.around, ctx, () => handle(input));
    refuseLate(call);
    return { kind: "returned", output };
  } catch (thrown) {
    // Also where a middleware wrapped it: another call would repeat the handler's effects for nothing.
    if (unstorable instanceof InvalidPayloadError) return { kind: "unstorable", thrown: unstorable };
    return endOf(call, thrown);
  }
}

/** A result that comes after the timeout is refused, though it may come within the grace. */
function refuseLate(call: ActiveCall): void {
  if (call.abortReason instanceof TimeoutError) throw call.abortReason;
}

function oversized(node: string, maxInputBytes: number): InvalidPayloadError {
  return new InvalidPayloadError(
    "$",
    `The outputs that the input of node "${node}" refers to have more than ${maxInputBytes} bytes together: pass less (future.get), store the data elsewhere and pass keys, or raise maxInputBytes.`,
  );
}

/** The input of a claimed step, bound, and as its schema gives it. */
function inputOf(step: ClaimedStep, definition: DefinitionRuntime): unknown {
  const bound = boundInput(step);
  const { input: schema } = definition.options;
  return schema === undefined ? bound : validate(schema, bound, `the input of node "${step.node}"`);
}

function boundInput(step: ClaimedStep): unknown {
  if (!step.hasInput) return undefined;
  if (step.outputs === null) return step.input;
  return bindInput(
    step.input,
    step.outputs.map((output) => output[0]),
  );
}

/** Why the handler threw: by itself, or because of what was done to it. */
function endOf(call: ActiveCall, thrown: unknown): CallEnd {
  const { abortReason } = call;
  if (abortReason instanceof ShutdownError) return { kind: "shutdown" };
  if (abortReason instanceof TimeoutError) return { kind: "timed_out", thrown: abortReason };
  if (call.txFailure !== undefined) {
    return isConnectionFailure(call.txFailure)
      ? { kind: "crowded", thrown: call.txFailure }
      : { kind: "threw", thrown };
  }
  return { kind: "threw", thrown };
}

/** What is to be recorded for a call that has ended, after its completionTx has been committed or undone. */
async function settle(
  call: ActiveCall,
  result: Evaluation,
  definition: DefinitionRuntime,
  environment: CallEnvironment,
): Promise<Outcome | undefined> {
  const { step } = call;
  const { backoff } = definition.options;
  const tx = await call.tx?.catch(() => undefined);
  if (tx === undefined) {
    return result.kind === "returned"
      ? { kind: "completed", output: result.output }
      : decideFailure(step, result, backoff);
  }
  if (result.kind !== "returned") {
    await tx.rollback();
    // Prisma's errors don't have the database's as their cause, so the transaction is asked as well.
    const interruption =
      result.kind === "threw" ? (tx.connectionError ?? conflictBehind(result.thrown) ?? tx.conflict) : undefined;
    return decideFailure(
      step,
      interruption === undefined ? result : { kind: "interrupted", thrown: interruption },
      backoff,
    );
  }
  if (call.forfeited) return undefined;
  call.recording = true;
  try {
    const committed = await tx.commit(step, result.output);
    if (committed === "committed") return { kind: "committed" };
    if (committed === "lost") return undefined;
    if (await environment.lookUpCommit(step)) return { kind: "committed" };
    return decideFailure(
      step,
      {
        kind: "interrupted",
        thrown: new Error("The reply to COMMIT was lost, and the transaction had not been committed."),
      },
      backoff,
    );
  } catch (thrown) {
    return decideFailure(step, isInterruption(thrown) ? { kind: "interrupted", thrown } : endOf(call, thrown), backoff);
  }
}

/** The serialization failure or deadlock behind what was thrown, which the handler isn't to blame for; ORMs wrap errors. */
function conflictBehind(thrown: unknown): unknown {
  let error = thrown;
  for (let depth = 0; depth < 5 && error !== undefined && error !== null; depth++) {
    if (!isConnectionFailure(error) && isInterruption(error)) return error;
    error = (error as { cause?: unknown }).cause;
  }
  return undefined;
}

function forcedOutcome(call: ActiveCall, reason: unknown, definition: DefinitionRuntime): Outcome {
  const end: CallEnd = reason instanceof TimeoutError ? { kind: "timed_out", thrown: reason } : { kind: "shutdown" };
  return decideFailure(call.step, end, definition.options.backoff);
}

function startTimeout(call: ActiveCall, definition: DefinitionRuntime): LongTimeout | undefined {
  const timeoutMs = call.step.timeoutMs ?? definition.options.timeoutMs;
  if (timeoutMs === null) return undefined;
  return setLongTimeout(() => call.abort(new TimeoutError(call.step.runId, call.step.node, timeoutMs)), timeoutMs);
}
