import type { FUTURE } from "../model/future-mark.ts";
import type { OUTPUT } from "../model/phantoms.ts";
import type { At, At2, At3, At4, KeyOf } from "./future-path.ts";
import type { FutureRuntime } from "./future-runtime.ts";

/** One node of the graph. Good for `after`, and for nothing else. */
export interface Node {
  /** @internal */
  readonly [FUTURE]: FutureRuntime;
}

/**
 * The typed output of a node: a value that doesn't exist yet. Pass it to the next `do`, alone or inside an object, array
 * or tuple. It can't be read, awaited, compared or put into a template string: coercing it throws
 * `CYCLONE_FUTURE_MISUSED`.
 */
export interface Future<out T> extends Node {
  /** @internal */
  readonly [OUTPUT]: T;
  /**
   * A part of the output: `page.get("links", 0, "href")`. Only that part travels to the node that uses it. Where the path
   * can miss (an optional property, a list's element, a key of a record, a member of a union that lacks it, `null` on
   * the way), the type has `undefined`. Four keys at most; a longer path is a second `get`.
   */
  get<
    S,
    const K1 extends KeyOf<S>,
    const K2 extends KeyOf<At<S, K1>> = never,
    const K3 extends KeyOf<At2<S, K1, K2>> = never,
    const K4 extends KeyOf<At3<S, K1, K2, K3>> = never,
  >(this: Future<S>, key: K1, key2?: K2, key3?: K3, key4?: K4): Future<At4<S, K1, K2, K3, K4>>;
}
