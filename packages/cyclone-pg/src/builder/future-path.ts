/** Keys of a value on the way into it: what `get` takes one by one. */
export type FuturePath = readonly (string | number)[];

type TupleIndex<T> = keyof T extends infer K ? (K extends `${infer N extends number}` ? N : never) : never;

/** The keys that `get` takes for a `T`. */
export type KeyOf<T> = T extends readonly unknown[]
  ? number extends T["length"]
    ? number
    : TupleIndex<T>
  : T extends object
    ? Extract<keyof T, string | number>
    : never;

type NamedKeys<T> = keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: 1 };

/** The part of `T` at `K`, with `undefined` where it may be missing. */
export type At<T, K> = 0 extends 1 & T
  ? T
  : T extends readonly unknown[]
    ? number extends T["length"]
      ? T[number] | undefined
      : `${K & number}` extends infer I
        ? I extends keyof T
          ? T[I]
          : undefined
        : never
    : T extends object
      ? K extends keyof T
        ? string extends keyof T
          ? K extends NamedKeys<T>
            ? T[K]
            : T[K] | undefined
          : T[K]
        : undefined
      : undefined;

export type At2<T, A, B> = [B] extends [never] ? At<T, A> : At<At<T, A>, B>;
export type At3<T, A, B, C> = [C] extends [never] ? At2<T, A, B> : At<At2<T, A, B>, C>;
export type At4<T, A, B, C, D> = [D] extends [never] ? At3<T, A, B, C> : At<At3<T, A, B, C>, D>;
