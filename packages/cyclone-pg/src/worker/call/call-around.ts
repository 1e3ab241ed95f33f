import type { Around } from "../../builder/around.ts";
import type { Context } from "../../builder/context.ts";
import { AroundError } from "../../errors/around-error.ts";

/**
 * Calls a handler through the client's middleware. Resolves once both have ended, if the handler returned and the middleware let that
 * stand; rejects with what the middleware threw, or with what the handler threw if the middleware kept that to itself.
 * @throws AroundError (`CYCLONE_AROUND`)
 */
export async function callAround(around: Around, ctx: Context, handler: () => Promise<unknown>): Promise<void> {
  let handled: Promise<unknown> | undefined;
  let misuse: AroundError | undefined;
  let over = false;
  const next = (): Promise<unknown> => {
    if (handled !== undefined || over) {
      misuse = new AroundError(
        handled === undefined
          ? `around() called next() for node "${ctx.node}" after it had returned: call it before, and await it.`
          : `around() called next() twice for node "${ctx.node}": one call of a handler is one attempt; throw, and the engine tries again.`,
      );
      return Promise.reject(misuse);
    }
    handled = handler();
    handled.catch(() => undefined); // counted below, also where the middleware doesn't await it
    return handled;
  };
  let returned: unknown;
  try {
    returned = await around(ctx, next);
  } finally {
    over = true;
    await handled?.catch(() => undefined);
  }
  if (misuse !== undefined) throw misuse;
  if (handled === undefined) {
    throw new AroundError(
      `around() returned without calling next(), so that the handler of node "${ctx.node}" wasn't called: throw to refuse a call.`,
    );
  }
  const output = await handled;
  if (returned !== undefined && returned !== output) {
    throw new AroundError(
      `around() returned something else than next() gave for node "${ctx.node}": only the handler makes the output; return nothing, or that.`,
    );
  }
}
