import { defineAction, defineStep, defineWorkflow } from "../../../src/index.ts";
import type { PlainScenarios } from "./plain-scenarios.ts";
import type { RecordedCalls } from "./recorded-calls.ts";

/** Work that writes to the ledger by its completionTx: once, whatever is cut. */
export function completionTxScenarios(calls: RecordedCalls, { double, sum }: PlainScenarios) {
  const pay = defineAction(
    "pay",
    calls.job((ctx) => calls.pay(ctx)),
  );
  const book = defineStep(
    "book",
    calls.handler(async (ctx, n: number) => {
      await calls.pay(ctx);
      return n;
    }),
  );
  /** Writes, and fails the first time. */
  const payLate = defineAction(
    "pay-late",
    { backoff: "20ms", maxAttempts: 2 },
    calls.job(async (ctx) => {
      await calls.pay(ctx);
      if (ctx.attempt === 1) throw new Error("fails after it has written");
    }),
  );
  const conflict = "do $$ begin raise exception 'staged' using errcode = '40001'; end $$";
  /** Writes, and is interrupted the first time: by a conflict that the database reports. */
  const payAgain = defineAction(
    "pay-again",
    calls.job(async (ctx) => {
      await calls.pay(ctx);
      if (ctx.reclaims === 0) await (await ctx.completionTx()).query(conflict);
    }),
  );
  /** Writes, and is interrupted more often than it may be. */
  const payNever = defineAction(
    "pay-never",
    { maxReclaims: 0 },
    calls.job(async (ctx) => {
      await calls.pay(ctx);
      await (await ctx.completionTx()).query(conflict);
    }),
  );
  /** What follows is activated after the COMMIT: 2n. */
  const payChain = defineWorkflow("pay-chain", (b, n: number) => {
    const paid = pay.do(b);
    return double.do(b, book.do(b, n, { after: [paid] })).get("value");
  });
  /** Three siblings, each in a transaction of its own, and their join: 6n. */
  const payFan = defineWorkflow("pay-fan", (b, n: number) => {
    const parts = [1, 2, 3].map((times) => book.do(b, n * times));
    return sum.do(b, parts);
  });
  const handlers = [pay, book, payLate, payAgain, payNever];
  return { handlers, pay, book, payLate, payAgain, payNever, payChain, payFan };
}

/** The steps that write one ledger row each. */
export const ledgerSteps: readonly string[] = ["pay", "book", "pay-late", "pay-again", "pay-never"];
