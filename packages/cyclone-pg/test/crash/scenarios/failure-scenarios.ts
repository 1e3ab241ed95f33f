import { Discard, defineStep, defineWorkflow, Snooze } from "../../../src/index.ts";
import type { PlainScenarios } from "./plain-scenarios.ts";
import type { RecordedCalls } from "./recorded-calls.ts";

/** Work that doesn't complete at its first call, or never. */
export function failureScenarios(calls: RecordedCalls, { double, sum, inTurn }: PlainScenarios) {
  const flaky = defineStep(
    "flaky",
    { backoff: "20ms", maxAttempts: 2 },
    calls.job((ctx) => {
      if (ctx.attempt === 1) throw new Error("fails at first");
      return ctx.attempt;
    }),
  );
  /** Fails at first, and is available again at once. */
  const hasty = defineStep(
    "hasty",
    { backoff: 0, maxAttempts: 2 },
    calls.job((ctx) => {
      if (ctx.attempt === 1) throw new Error("fails at first");
      return ctx.attempt;
    }),
  );
  const sleepy = defineStep(
    "sleepy",
    calls.job((ctx) => {
      if (ctx.snoozes === 0) throw new Snooze("20ms");
      return ctx.snoozes;
    }),
  );
  /** Waits for its abort signal, the first time. */
  const patient = defineStep(
    "patient",
    calls.job(async (ctx) => {
      const { epoch } = await calls.node(ctx);
      if (epoch !== 1) return "again";
      await calls.until(ctx, () => false);
      throw ctx.signal.reason;
    }),
  );
  const doomed = defineStep(
    "doomed",
    calls.job((): { value: number } => {
      throw new Discard("for good");
    }),
  );
  /** A step that no worker may lose. */
  const fragile = defineStep(
    "fragile",
    { maxReclaims: 0 },
    calls.job(() => ({ value: 1 })),
  );
  /** The discarded node ends last; what depends on it, near and far, is cancelled. */
  const doomedLast = defineWorkflow("doomed-last", (b, _n: number) => {
    const beside = double.do(b, 1);
    const lost = doomed.do(b, undefined, { after: [beside] });
    const near = double.do(b, lost.get("value"));
    return sum.do(b, [beside.get("value"), near.get("value")]);
  });
  /** The branch beside the discarded node ends last. */
  const doomedFirst = defineWorkflow("doomed-first", (b, _n: number) => {
    inTurn.do(b, { value: 1, behind: "doomed" });
    return double.do(b, doomed.do(b).get("value"));
  });
  const fragileChain = defineWorkflow("fragile-chain", (b, _n: number) => double.do(b, fragile.do(b).get("value")));
  const handlers = [flaky, hasty, sleepy, patient, doomed, fragile];
  return { handlers, flaky, hasty, sleepy, patient, doomed, fragile, doomedLast, doomedFirst, fragileChain };
}
