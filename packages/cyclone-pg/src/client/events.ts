import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { suggestion } from "../model/options.ts";
import type { StoredError } from "../model/stored-error.ts";

interface RunEvent {
  readonly runId: string;
  /** The workflow's, step's or action's name. */
  readonly name: string;
}

interface StepEvent {
  readonly runId: string;
  readonly node: string;
  readonly step: string;
  /** The call's number, from 1. */
  readonly attempt: number;
}

/**
 * What a client tells of its own process's work, after the commit. Other processes' work shows in the database only.
 * An `error` event carries an Error with a `code` where it has one.
 */
export interface ClientEvents {
  /** A start made a run: not one in a transaction of yours, nor one that found its run by a key. */
  "run.submitted": RunEvent;
  /** What this process recorded completed the run. */
  "run.completed": RunEvent;
  /** What this process recorded made the run fail. */
  "run.failed": RunEvent;
  /** This process cancelled the run. */
  "run.cancelled": RunEvent;
  /** `waitedMs`: how long the step was available before, by the database's clock. */
  "step.claimed": StepEvent & { readonly waitedMs: number };
  /** `durationMs`: from the claim to the recorded completion. */
  "step.completed": StepEvent & { readonly durationMs: number };
  /** A call failed, timed out, was interrupted, or had no connection for its completionTx; there will be another in `retryInMs`. */
  "step.failed": StepEvent & { readonly error: StoredError; readonly retryInMs: number };
  /** There won't be another call; `error` is why. */
  "step.discarded": StepEvent & { readonly error: StoredError };
  /** The handler asked to be called again in `delayMs`; no attempt was charged. */
  "step.snoozed": StepEvent & { readonly delayMs: number };
  /** This process made a step available again whose lease had run out. */
  "step.reclaimed": StepEvent & { readonly reclaims: number };
  /** A call here no longer owned its step; nothing of it is committed. */
  "lease.lost": StepEvent;
  /** The event loop didn't run for so long. */
  "worker.blocked": { readonly blockedMs: number };
  /** A handler doesn't end though its signal has fired, and keeps its slot. */
  "worker.stuck": StepEvent;
  /** Something works only by its fallback: no notifications, say. */
  "worker.degraded": { readonly reason: string };
  /** `runId`: the run whose row the database refuses to change. */
  error: { readonly error: Error; readonly runId?: string };
}

/** The names of the events. */
export type EventName = keyof ClientEvents;

const NAMES = Object.keys({
  "run.submitted": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
  "step.claimed": true,
  "step.completed": true,
  "step.failed": true,
  "step.discarded": true,
  "step.snoozed": true,
  "step.reclaimed": true,
  "lease.lost": true,
  "worker.blocked": true,
  "worker.stuck": true,
  "worker.degraded": true,
  error: true,
} satisfies Record<EventName, true>);

type Listener<E extends EventName> = (payload: ClientEvents[E]) => void;

/** Listeners by event. A listener that throws is reported, and never disturbs the engine. */
export class Events {
  readonly #listeners = new Map<EventName, Set<Listener<EventName>>>();
  readonly #onListenerError: (event: EventName, error: unknown) => void;

  constructor(onListenerError: (event: EventName, error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  /** @returns a function that removes the listener @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void {
    checkListening(event, listener);
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    // The map is keyed by the event's name, so that a listener only gets its own event's payload.
    const stored = listener as Listener<EventName>;
    listeners.add(stored);
    return () => void listeners.delete(stored);
  }

  /** Whether anybody listens; saves making the payload. */
  has(event: EventName): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0;
  }

  emit<E extends EventName>(event: E, payload: ClientEvents[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      try {
        const returned: unknown = listener(payload);
        // An async listener is reported as well; nobody waits for it.
        if (returned instanceof Promise) returned.catch((error: unknown) => this.#onListenerError(event, error));
      } catch (error) {
        this.#onListenerError(event, error);
      }
    }
  }
}

function checkListening(event: unknown, listener: unknown): void {
  if (typeof event !== "string" || !NAMES.includes(event)) {
    const advice = suggestion(String(event), NAMES) ?? `there are ${NAMES.join(", ")}`;
    throw new InvalidOptionError("event", `There is no event "${String(event)}": ${advice}`);
  }
  if (typeof listener !== "function")
    throw new InvalidOptionError("listener", `The listener of "${event}" must be a function.`);
}
