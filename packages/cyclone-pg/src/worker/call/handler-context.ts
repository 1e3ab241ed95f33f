import type { CompletionTx, CompletionTxOptions, Context } from "../../builder/context.ts";
import { CompletionTxError } from "../../errors/completion-tx-error.ts";
import { InvalidOptionError } from "../../errors/invalid-option-error.ts";
import type { Logger } from "../../model/logger.ts";
import { rejectUnknownKeys } from "../../model/options.ts";
import { storableText } from "../../model/stored-error.ts";
import type { CompletionTransaction, IsolationLevel } from "../completion-tx/completion-transaction.ts";
import type { ActiveCall } from "./active-call.ts";

/** What a context needs from its worker. */
export interface ContextEnvironment {
  readonly log: Logger;
  readonly beginTx: (isolation: IsolationLevel) => Promise<CompletionTransaction>;
  /** The transaction is open; tells when it stays so for long. */
  readonly onTxBegun: (call: ActiveCall) => void;
  readonly onProgress: (call: ActiveCall, fraction: number, message: string | undefined) => void;
}

const PROGRESS_BYTES_MAX = 1_024;
const ISOLATION_LEVELS: readonly IsolationLevel[] = ["read committed", "repeatable read", "serializable"];

/** What a handler gets besides its input. */
export class HandlerContext implements Context {
  readonly #call: ActiveCall;
  readonly #environment: ContextEnvironment;
  #log: Logger | undefined;

  constructor(call: ActiveCall, environment: ContextEnvironment) {
    this.#call = call;
    this.#environment = environment;
  }

  get runId(): string {
    return this.#call.step.runId;
  }

  get node(): string {
    return this.#call.step.node;
  }

  get step(): string {
    return this.#call.step.step;
  }

  get attempt(): number {
    return this.#call.step.attempt;
  }

  get reclaims(): number {
    return this.#call.step.reclaims;
  }

  get snoozes(): number {
    return this.#call.step.snoozes;
  }

  get idempotencyKey(): string {
    return `${this.runId}/${this.node}`;
  }

  get traceparent(): string | undefined {
    return this.#call.step.traceparent ?? undefined;
  }

  get deadline(): Date | undefined {
    const { deadlineMs } = this.#call.step;
    return deadlineMs === null ? undefined : new Date(deadlineMs);
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get log(): Logger {
    this.#log ??= withFields(this.#environment.log, {
      runId: this.runId,
      node: this.node,
      step: this.step,
      attempt: this.attempt,
    });
    return this.#log;
  }

  async completionTx(options: CompletionTxOptions = {}): Promise<CompletionTx> {
    const call = this.#call;
    if (call.abortReason !== undefined) throw call.abortReason;
    if (call.settled) {
      throw new CompletionTxError(
        "The handler has settled: its completionTx is closed. Await what asks for it inside the handler.",
      );
    }
    call.tx ??= this.#begin(isolationOf(options));
    const tx = await call.tx;
    if (call.abortReason !== undefined) throw call.abortReason;
    return tx.client;
  }

  progress(fraction: number, message?: string): void {
    if (typeof fraction !== "number" || Number.isNaN(fraction)) return;
    const text = typeof message === "string" ? storableText(message, PROGRESS_BYTES_MAX) : undefined;
    this.#environment.onProgress(this.#call, Math.min(1, Math.max(0, fraction)), text);
  }

  async #begin(isolation: IsolationLevel): Promise<CompletionTransaction> {
    const call = this.#call;
    try {
      const tx = await this.#environment.beginTx(isolation);
      if (call.abortReason !== undefined) {
        tx.abandon(call.abortReason);
        throw call.abortReason;
      }
      this.#environment.onTxBegun(call);
      return tx;
    } catch (error) {
      call.txFailure = error;
      throw error;
    }
  }
}

function isolationOf(options: CompletionTxOptions): IsolationLevel {
  rejectUnknownKeys(options, ["isolation"], "completionTx");
  const { isolation = "read committed" } = options;
  if (ISOLATION_LEVELS.includes(isolation)) return isolation;
  throw new InvalidOptionError(
    "isolation",
    `isolation of completionTx must be one of ${ISOLATION_LEVELS.map((level) => `"${level}"`).join(", ")}`,
  );
}

function withFields(log: Logger, own: Readonly<Record<string, unknown>>): Logger {
  return {
    debug: (message, fields) => log.debug(message, { ...own, ...fields }),
    info: (message, fields) => log.info(message, { ...own, ...fields }),
    warn: (message, fields) => log.warn(message, { ...own, ...fields }),
    error: (message, fields) => log.error(message, { ...own, ...fields }),
  };
}
