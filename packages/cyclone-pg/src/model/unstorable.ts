import { types } from "node:util";
import { FUTURE } from "./future-mark.ts";

/**
 * Says in a few words what an object is that JSON can't hold, and what to pass instead. May throw if the object does
 * (a hostile getter or Proxy): the caller is prepared.
 */
export function describeUnstorable(value: object): string {
  if (types.isProxy(value)) return "a Proxy of something that isn't plain data";
  if (FUTURE in value) return "a future: only an input of a node of the same build can hold one";
  if (types.isDate(value)) return "a Date: pass date.toISOString() or date.getTime()";
  if (types.isMap(value)) return "a Map: pass [...map] or Object.fromEntries(map)";
  if (types.isSet(value)) return "a Set: pass [...set]";
  if (types.isPromise(value) || ("then" in value && typeof value.then === "function"))
    return "a Promise: await it first";
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return "binary data: pass it as a base64 text";
  if (types.isNativeError(value)) return "an Error: pass its message";
  const name = className(value);
  return Array.isArray(value)
    ? `an instance of ${name}: pass [...list]`
    : `an instance of ${name}: pass a plain object`;
}

function className(value: object): string {
  const constructor: unknown = "constructor" in value ? value.constructor : undefined;
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "a class without a name";
}
