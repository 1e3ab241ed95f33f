import { inspect } from "node:util";
import { FutureMisusedError } from "../errors/future-misused-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { FUTURE } from "../model/future-mark.ts";
import { formatJsonPath } from "../model/json-path.ts";
import { isStorableText } from "../model/names.ts";
import type { BuilderRuntime } from "./builder.ts";
import type { Node } from "./future.ts";
import type { FuturePath } from "./future-path.ts";

/** What a node or future is at run time. */
export interface FutureRuntime {
  readonly builder: BuilderRuntime;
  /** The node's key in its builder. */
  readonly key: number;
  /** The part of the output; `[]` is the whole. */
  readonly path: FuturePath;
  /** `false`: an action's node, which is good for `after` only. */
  readonly hasOutput: boolean;
  /** The node's name where it was given, else its step's; for errors. */
  readonly label: string;
}

/** The longest path that gets can add up to. */
const PATH_LENGTH_MAX = 100;
/** The largest index that Postgres reads in a path. */
const INDEX_MAX = 2_147_483_647;

/** The runtime of a node or future, also of another copy of the package; `undefined` for anything else. */
export function futureRuntimeOf(value: unknown): FutureRuntime | undefined {
  return typeof value === "object" && value !== null ? (value as Partial<Node>)[FUTURE] : undefined;
}

/** The object that `do` returns. */
export function createFuture(runtime: FutureRuntime): Node {
  return runtime.hasOutput ? new FutureObject(runtime) : new NodeObject(runtime);
}

/** Everything that would treat a node as a value throws here, instead of giving "[object Object]" or waiting for nothing. */
class NodeObject implements Node {
  // Enumerable, so that a spread copies it and is found out when the input is encoded.
  readonly [FUTURE]: FutureRuntime;

  constructor(runtime: FutureRuntime) {
    this[FUTURE] = runtime;
  }

  /** What `await`, and a Promise that is resolved with it, look for. */
  // oxlint-disable-next-line unicorn/no-thenable -- it is there to refuse
  get then(): never {
    throw this.#misused("awaited", "a build is synchronous, and a handler gets the value as its input");
  }

  [Symbol.toPrimitive](): never {
    throw this.#misused(
      "made a text or number",
      "pass it on as an input, and compute with the value in a step's handler",
    );
  }

  [Symbol.iterator](): never {
    throw this.#misused("iterated", "pass it on as an input, and iterate over the value in a step's handler");
  }

  toString(): never {
    return this[Symbol.toPrimitive]();
  }

  toJSON(): never {
    throw this.#misused("written as JSON", "pass it on as an input");
  }

  [inspect.custom](): string {
    const { label, path, hasOutput } = this[FUTURE];
    return `${hasOutput ? "Future" : "Node"}(${label}${formatJsonPath(path).slice(1)})`;
  }

  #misused(how: string, advice: string): FutureMisusedError {
    const { label, hasOutput } = this[FUTURE];
    const what = hasOutput ? `The future of node "${label}"` : `Node "${label}"`;
    return new FutureMisusedError(`${what} was ${how}: its value doesn't exist while the graph is built; ${advice}.`);
  }
}

class FutureObject extends NodeObject {
  get(...keys: readonly unknown[]): FutureObject {
    const runtime = this[FUTURE];
    if (keys.length === 0) throw badKey(runtime, "get needs a key");
    for (const key of keys) checkPathKey(key, runtime);
    const path = [...runtime.path, ...(keys as (string | number)[])];
    if (path.length > PATH_LENGTH_MAX) throw badKey(runtime, `its path has more than ${PATH_LENGTH_MAX} keys`);
    return new FutureObject({ ...runtime, path });
  }
}

function checkPathKey(key: unknown, runtime: FutureRuntime): void {
  if (typeof key === "number") {
    if (Number.isInteger(key) && key >= 0 && key <= INDEX_MAX) return;
    throw badKey(runtime, `${key} isn't an index: give a whole number from 0`);
  }
  if (typeof key === "string") {
    if (isStorableText(key)) return;
    throw badKey(runtime, `the key ${JSON.stringify(key)} has U+0000 or half a surrogate pair in it`);
  }
  const shown = key === undefined || key === null ? String(key) : futureRuntimeOf(key) ? "a future" : `a ${typeof key}`;
  throw badKey(runtime, `${shown} isn't a key: give a text, or a whole number from 0`);
}

function badKey(runtime: FutureRuntime, why: string): InvalidOptionError {
  return new InvalidOptionError("key", `get on the future of node "${runtime.label}": ${why}.`);
}
