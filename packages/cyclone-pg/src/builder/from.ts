import { FutureMisusedError } from "../errors/future-misused-error.ts";
import type { Future } from "./future.ts";
import { futureRuntimeOf } from "./future-runtime.ts";

/**
 * Says "this is a data edge": the future itself. The same as passing the future, and a check besides.
 * @throws FutureMisusedError (`CYCLONE_FUTURE_MISUSED`) if it isn't a future
 */
export function from<T>(future: Future<T>): Future<T> {
  const runtime = futureRuntimeOf(future);
  if (runtime === undefined)
    throw new FutureMisusedError("from takes a future: pass a plain value without it, or by lit.");
  if (!runtime.hasOutput)
    throw new FutureMisusedError(`Node "${runtime.label}" is an action's and has no output: use it in \`after\`.`);
  return future;
}
