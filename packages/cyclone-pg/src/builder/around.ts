import type { Context } from "./context.ts";

/**
 * A middleware around each call of a handler in one client: `around(ctx, next)`. `next()` calls the handler, and has to be called once:
 * it resolves with what the handler returned, and rejects with what fails the attempt (what the handler threw, or that its output is
 * refused). What the middleware throws counts as thrown by the handler. Otherwise the handler's outcome stands: a middleware returns
 * nothing, or what `next()` gave, and can't put another output in its place or swallow an error.
 */
export type Around = (ctx: Context, next: () => Promise<unknown>) => unknown;
