import { setTimeout as delay } from "node:timers/promises";
import { implement } from "cyclone-pg";
import { inspectPackage } from "../scan/inspect-package.ts";
import { readSummary } from "./audit-summary.ts";
import { audit, inspect, summarise } from "./audit-workflow.ts";
import { writePackage } from "./write-package.ts";

/** All that a worker of the audit runs. `slowMs` holds each package up, for who wants to see the work, or to kill it. */
export function auditHandlers(slowMs: number) {
  return [
    audit,
    implement(inspect, async (ctx, { folder, path }) => {
      if (slowMs > 0) await delay(slowMs, undefined, { signal: ctx.signal });
      const facts = await inspectPackage(folder, path);
      // Only now, with nothing left to do but the write: the transaction takes a connection.
      const tx = await ctx.completionTx();
      await writePackage(tx, ctx.runId, facts);
    }),
    implement(summarise, async (ctx) => readSummary(await ctx.completionTx(), ctx.runId)),
  ];
}
