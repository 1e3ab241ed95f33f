import type { Registrable } from "../../src/index.ts";
import type { History } from "../support/history.ts";
import { completionTxScenarios } from "./scenarios/completion-tx-scenarios.ts";
import { failureScenarios } from "./scenarios/failure-scenarios.ts";
import { plainScenarios } from "./scenarios/plain-scenarios.ts";
import { type Ask, RecordedCalls } from "./scenarios/recorded-calls.ts";

export type Scenarios = ReturnType<typeof scenariosOf>;

/**
 * The steps and workflows whose transitions are cut. Handlers record their calls in the history; those that write do so by
 * their completionTx. What a handler does the first time only, it knows from its row, so that any process may go on.
 */
export function scenariosOf(history: History, ask: Ask) {
  const calls = new RecordedCalls(history, ask);
  const plain = plainScenarios(calls);
  const paid = completionTxScenarios(calls, plain);
  const failed = failureScenarios(calls, plain);
  const handlers: readonly Registrable[] = [...plain.handlers, ...paid.handlers, ...failed.handlers];
  return { ...plain, ...paid, ...failed, handlers };
}
