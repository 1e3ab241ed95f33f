import type { FUTURE } from "./future-mark.ts";

/** Any JSON value. Only a convenience: inputs and outputs needn't extend it, so interfaces without index signatures work. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What JSON holds without looking inside. */
export type JsonLeaf = string | number | boolean | null;
/** Any function; only to recognise one. */
export type AnyFunction = (...args: never[]) => unknown;

/**
 * `T` with everything that JSON can't hold replaced by `never`; a JSON-faithful `T` is assignable to it.
 * `any` and `unknown` pass (the run-time check decides), optional properties pass, `undefined` in a list doesn't,
 * and neither does anything with methods (Date, Map, Set, class instances). A class with fields only can't be told
 * from an interface here; the run-time check sees it.
 */
export type Json<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends JsonLeaf | undefined | void
      ? T
      : T extends bigint | symbol | AnyFunction
        ? never
        : T extends readonly unknown[]
          ? JsonList<T>
          : { [K in keyof T]: K extends symbol ? T[K] : Json<T[K]> };

// A list is written as an array type, not as a mapped one: only so does the compiler put off its elements, and recursive
// types (JsonValue) don't run away. An optional element may be missing, an element that is `undefined` may not be.
type JsonList<T extends readonly unknown[]> = unknown extends T[number]
  ? T
  : number extends T["length"]
    ? undefined extends T[number]
      ? readonly Json<T[number] & Held>[]
      : readonly Json<T[number]>[]
    : undefined extends Required<T>[number]
      ? readonly Json<T[number] & Held>[]
      : readonly (Json<T[number]> | undefined)[];
type Held = JsonLeaf | object;

declare const PAYLOAD: unique symbol;

/** Not a value: the type that an editor shows when a payload isn't JSON. `Why` names the path and the culprit. */
export interface NotJson<Why> {
  readonly [PAYLOAD]: Why;
}

/** `"json"`: payload types are checked; `"unchecked"`: only the values are, at run time. */
export type PayloadMode = "json" | "unchecked";

/** `unknown` if `T` is JSON-faithful, otherwise `NotJson<"output.createdAt is a Date">`. */
export type JsonCheck<T, Path extends string, Mode = "json"> = Mode extends "unchecked"
  ? unknown
  : [T] extends [Json<T>]
    ? unknown
    : NotJson<NotJsonPath<T, Path>>;

// Evaluated only once a check has failed, and four levels deep at most, so recursive types cost nothing.
type NotJsonPath<T, Path extends string, Depth extends 0 | 1 | 2 | 3 | 4 = 0> = [T] extends [Json<T>]
  ? never
  : Depth extends 4
    ? `${Path}: something below isn't JSON`
    : T extends JsonLeaf | undefined | void
      ? never
      : Culprit<T> extends infer Found extends string
        ? `${Path} ${Found}`
        : T extends readonly unknown[]
          ? undefined extends T[number]
            ? `${Path} has undefined elements`
            : NotJsonPath<T[number], `${Path}[]`, Deeper[Depth]>
          : { [K in keyof T & string]-?: NotJsonPath<T[K], `${Path}.${K}`, Deeper[Depth]> }[keyof T & string];
type Deeper = [1, 2, 3, 4, 4];

// One that has no words of its own is looked into.
type Culprit<T> = T extends bigint
  ? "is a bigint"
  : T extends symbol
    ? "is a symbol"
    : T extends AnyFunction
      ? "is a function"
      : T extends Date
        ? "is a Date"
        : T extends ReadonlyMap<unknown, unknown>
          ? "is a Map"
          : T extends ReadonlySet<unknown>
            ? "is a Set"
            : T extends PromiseLike<unknown>
              ? "is a Promise, await it"
              : T extends { readonly [FUTURE]: unknown }
                ? "is a future"
                : T extends ArrayBuffer | ArrayBufferView
                  ? "is binary data"
                  : undefined;
