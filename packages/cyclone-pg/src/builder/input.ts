import type { AnyFunction, JsonLeaf } from "../model/json.ts";
import type { Future } from "./future.ts";

/**
 * What a node that takes `T` may be given: a `T`, a future of it, or an object, array or tuple that has futures at any depth.
 * Read-only data is fine. A future that may be `undefined` fits an optional property: absent stays absent.
 */
export type Input<T> = Future<T> | Plain<T>;

// A plain `T` fits its own mapped type, so `T` itself isn't in the union: with it the compiler would measure a nested mistake
// against `T` and blame futures that are right. Only the members of a union of objects keep it, for their literal tags.
type Plain<T, Whole = T> = unknown extends T
  ? T
  : T extends Atom
    ? T
    : T extends readonly unknown[]
      ? number extends T["length"]
        ? T extends readonly [infer Head, ...infer Rest]
          ? readonly [Input<Head>, ...Input<Rest[number]>[]]
          : readonly Input<T[number]>[] // an array type, so that recursive types are put off (see JsonList)
        : { readonly [K in keyof T]: Input<T[K]> }
      : [Exclude<Whole, null | undefined>] extends [T]
        ? { readonly [K in keyof T]: Input<T[K]> }
        : T | { readonly [K in keyof T]: Input<T[K]> };
type Atom = JsonLeaf | bigint | symbol | undefined | void | AnyFunction;
