import type { ClaimedStep } from "../../engine/claim/claimed-step.ts";
import type { CompletionTransaction } from "../completion-tx/completion-transaction.ts";

/**
 * One call of a handler under way: its step, its abort signal, its completionTx. The signal is made when it is first asked for,
 * since most handlers never do.
 */
export class ActiveCall {
  readonly step: ClaimedStep;
  /** The number under which the lease keeper knows the lease. */
  readonly leaseId: number;
  readonly startedAt = performance.now();
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #onAbort: ((reason: unknown) => void) | undefined;
  /** The transaction, once the handler has asked for it. */
  tx: Promise<CompletionTransaction> | undefined;
  /** Why there is none though the handler asked for it. */
  txFailure: unknown;
  /** The lease is lost: nothing of this call is recorded any more. */
  forfeited = false;
  /** Its outcome is recorded, or nothing of it is. */
  onForgotten: (() => void) | undefined;
  /** The handler has ended: a completionTx that is asked for from here on would commit with nothing. */
  settled = false;
  /** The outcome is on the way to the database. */
  recording = false;

  constructor(step: ClaimedStep, leaseId: number) {
    this.step = step;
    this.leaseId = leaseId;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** Why the signal has fired, `undefined` while it hasn't. */
  get abortReason(): unknown {
    return this.#abortReason;
  }

  /** Fires the signal, and refuses further queries on the completionTx; only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    void this.tx?.then(
      (tx) => tx.refuse(reason),
      () => undefined,
    );
    this.#controller?.abort(reason);
    this.#onAbort?.(reason);
  }

  /** The lease is no longer ours: fires the signal, and undoes the completionTx without waiting for the handler. */
  forfeit(reason: unknown): void {
    this.forfeited = true;
    this.abandonTx(reason);
    this.abort(reason);
  }

  /** Undoes the completionTx, if there is one, by closing its connection. */
  abandonTx(reason: unknown): void {
    void this.tx?.then(
      (tx) => tx.abandon(reason),
      () => undefined,
    );
  }

  /** What the engine itself does when the signal fires. */
  onAbort(listener: (reason: unknown) => void): void {
    this.#onAbort = listener;
  }
}
