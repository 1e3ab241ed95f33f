import { errorCode, isTransient } from "../db/database-errors.ts";
import type { StepPlace } from "../engine/claim/claimed-step.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { Logger } from "../model/logger.ts";
import type { StoredError } from "../model/stored-error.ts";
import type { WorkerReports } from "../worker/worker-reports.ts";
import type { Events } from "./events.ts";

const TROUBLE_GAP_MS = 5_000;

/** Makes events and log lines of what a worker tells. */
export function workerReports(events: Events, log: Logger): WorkerReports {
  return { ...stepReports(events, log), ...troubleReports(events, log) };
}

/** What is told of a statement that failed. */
type Trouble = "isolated" | "trouble";

function stepReports(events: Events, log: Logger): Omit<WorkerReports, Trouble> {
  const place = (step: StepPlace): StepPlace => ({
    runId: step.runId,
    node: step.node,
    step: step.step,
    attempt: step.attempt,
  });
  return {
    claimed: (step) => {
      if (events.has("step.claimed")) events.emit("step.claimed", { ...place(step), waitedMs: step.waitedMs });
    },
    recorded: (step, outcome, durationMs) => reportOutcome(events, log, place(step), outcome, durationMs),
    ended: ({ runId, name, state }) => {
      if (state !== "cancelled") events.emit(state === "completed" ? "run.completed" : "run.failed", { runId, name });
    },
    reclaimed: (rows) => {
      log.info(`${rows.length} step(s) reclaimed: their leases had run out.`, {
        count: rows.length,
        runId: rows[0]?.run_id,
        node: rows[0]?.node,
      });
      for (const row of rows) {
        events.emit("step.reclaimed", {
          runId: row.run_id,
          node: row.node,
          step: row.step,
          attempt: row.attempts + 1,
          reclaims: row.reclaims,
        });
      }
    },
    leaseLost: (step) => {
      log.warn("Lease lost: another worker may have the step, and nothing of this call was committed.", place(step));
      events.emit("lease.lost", place(step));
    },
    blocked: (blockedMs) => {
      log.warn("A handler kept the event loop from running: compute in a worker thread, or in smaller pieces.", {
        blockedMs,
      });
      events.emit("worker.blocked", { blockedMs });
    },
    stuck: (step) => {
      log.warn(
        "A handler doesn't end though its signal has fired: it keeps its slot, and its result is refused.",
        place(step),
      );
      events.emit("worker.stuck", place(step));
    },
    longTx: (step, leaseMs) => {
      const reason = `The completionTx of node "${step.node}" (run ${step.runId}) has been open for more than ${leaseMs} ms: it holds a connection and its locks.`;
      log.warn(reason, place(step));
      events.emit("worker.degraded", { reason });
    },
  };
}

function troubleReports(events: Events, log: Logger): Pick<WorkerReports, Trouble> {
  let lastTroubleAt = Number.NEGATIVE_INFINITY;
  return {
    isolated: (runId, error) => {
      log.error("The database refuses to change a row of a run: it is set aside, and tried again from time to time.", {
        runId,
        error: String(error),
        code: errorCode(error),
      });
      events.emit("error", { error: asError(error), runId });
    },
    trouble: (error) => {
      const now = performance.now();
      if (now - lastTroubleAt < TROUBLE_GAP_MS) return;
      lastTroubleAt = now;
      const message = isTransient(error)
        ? "A statement failed; it is tried again."
        : "A statement of the engine failed; it is tried again.";
      log[isTransient(error) ? "warn" : "error"](message, { error: String(error), code: errorCode(error) });
      if (!isTransient(error)) events.emit("error", { error: asError(error) });
    },
  };
}

function reportOutcome(events: Events, log: Logger, place: StepPlace, outcome: Outcome, durationMs: number): void {
  switch (outcome.kind) {
    case "completed":
    case "committed":
      if (events.has("step.completed")) events.emit("step.completed", { ...place, durationMs });
      return;
    case "discard":
      log.error(`Node "${place.node}" is discarded: ${errorLine(outcome.error)}`, {
        ...place,
        error: outcome.error,
      });
      events.emit("step.discarded", { ...place, error: outcome.error });
      return;
    case "release":
      if (outcome.outcome === "snoozed") events.emit("step.snoozed", { ...place, delayMs: outcome.delayMs });
      if (outcome.error === null) return;
      log.warn(`Node "${place.node}" ${outcome.outcome.replace("_", " ")}: ${errorLine(outcome.error)}`, {
        ...place,
        retryInMs: outcome.delayMs,
        error: outcome.error,
      });
      events.emit("step.failed", { ...place, error: outcome.error, retryInMs: outcome.delayMs });
  }
}

/** With the nearest cause: "fetch failed" alone says nothing. */
function errorLine({ name, message, causes = [] }: StoredError): string {
  const cause = causes[0]?.message ?? "";
  return cause === "" || message.includes(cause) ? `${name}: ${message}` : `${name}: ${message}: ${cause}`;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
