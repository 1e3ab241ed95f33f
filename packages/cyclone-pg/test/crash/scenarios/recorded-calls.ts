import { setTimeout as wait } from "node:timers/promises";
import { type Context, Discard } from "../../../src/index.ts";
import type { History } from "../../support/history.ts";

/** Asks the database past the proxy, outside of any transaction of the engine. */
export type Ask = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A node as a handler sees it from outside. */
export interface SeenNode {
  readonly state?: string;
  readonly epoch?: number;
  readonly expiry?: string | null;
  readonly progress?: number | null;
}

const WAIT_LIMIT_MS = 30_000;
const LOOK_GAP_MS = 10;

/** What all handlers of the scenarios have in common: their calls are recorded, and some write to the ledger. */
export class RecordedCalls {
  readonly #history: History;
  readonly #ask: Ask;

  constructor(history: History, ask: Ask) {
    this.#history = history;
    this.#ask = ask;
  }

  /** A handler whose calls are in the history. */
  handler<In, Out>(work: (ctx: Context, input: In) => Out | Promise<Out>): (ctx: Context, input: In) => Promise<Out> {
    return (ctx, input) => this.#history.handler({ run: ctx.runId, node: ctx.node }, () => work(ctx, input));
  }

  /** The same of a step without input. */
  job<Out>(work: (ctx: Context) => Out | Promise<Out>): (ctx: Context) => Promise<Out> {
    const handler = this.handler<void, Out>((ctx) => work(ctx));
    return (ctx) => handler(ctx);
  }

  /** What the database says of a node of the call's run; of its own, if none is named. */
  async node(ctx: Context, name: string = ctx.node): Promise<SeenNode> {
    const { rows } = await this.#ask(
      `select state::text, lease_epoch as epoch, lease_expiry::text as expiry, progress
       from cyclone_steps where run_id = $1 and node = $2`,
      [ctx.runId, name],
    );
    return rows[0] ?? {};
  }

  /** Returns once the node is as wanted, or the call is aborted. @throws Discard after a while, so that it shows */
  async until(ctx: Context, wanted: (node: SeenNode) => boolean, name?: string): Promise<void> {
    const deadline = performance.now() + WAIT_LIMIT_MS;
    while (!ctx.signal.aborted && !wanted(await this.node(ctx, name))) {
      if (performance.now() > deadline)
        throw new Discard(`node ${name ?? ctx.node} isn't as wanted after ${WAIT_LIMIT_MS} ms`);
      await wait(LOOK_GAP_MS);
    }
  }

  /** Writes the call's ledger row by its completionTx, with the epoch that the node has at that moment. */
  async pay(ctx: Context): Promise<void> {
    const tx = await ctx.completionTx();
    await tx.query(
      `insert into ledger (run_id, node, epoch)
       select run_id, node, lease_epoch from cyclone_steps where run_id = $1 and node = $2`,
      [ctx.runId, ctx.node],
    );
  }
}
