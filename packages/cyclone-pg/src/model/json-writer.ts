import type { CycloneError } from "../errors/cyclone-error.ts";
import { InvalidPayloadError } from "../errors/invalid-payload-error.ts";
import { FUTURE } from "./future-mark.ts";
import { formatJsonPath } from "./json-path.ts";
import { isStorableText } from "./names.ts";
import { describeUnstorable } from "./unstorable.ts";

/** How deep objects and arrays may be nested in a payload. */
export const PAYLOAD_DEPTH_MAX = 500;

/**
 * A text that is over its limit is still written up to this length, so that the error can state its size. Without a bound
 * a few objects that share their parts could take all memory.
 */
const MEASURED_LENGTH_MAX = 64 * 1024 * 1024;

// What JSON writes differently from the text itself, and what can't be stored at all.
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const NEEDS_CARE = /[\0-\x1f"\\\ud800-\udfff]/;

/** What an extended JSON, such as the template of a node's input, does besides. */
export interface JsonExtension {
  /** The text for an object that isn't plain data; an error to throw instead of it; or `undefined` to refuse it. */
  write(value: object): string | CycloneError | undefined;
  /** What comes before an object with these keys, closed by one `}` after it; `""`: nothing. */
  before(keys: readonly string[]): string;
}

/** One object or array that is being written; `key` is the member at hand. */
interface Frame {
  readonly value: object;
  readonly parent: Frame | null;
  key: string | number;
}

class Refusal {
  readonly reason: string | CycloneError;
  constructor(reason: string | CycloneError) {
    this.reason = reason;
  }
}

/**
 * Writes a value as JSON in one pass: what has been checked is what is written, whatever getters and Proxies answer the
 * second time. Nothing of the value is called besides its getters and traps: no `toJSON`.
 * @param what what the value is, for the error: `the input of node "fetch"`
 * @returns the JSON text, `undefined` for `undefined`
 * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) with the path of the first thing that JSON can't hold, or the
 *   extension's error
 */
export function writeJson(
  value: unknown,
  what: string,
  maxBytes: number,
  extension?: JsonExtension,
): string | undefined {
  if (value === undefined) return undefined;
  const writer = new JsonWriter(maxBytes, extension);
  try {
    writer.write(value);
  } catch (thrown) {
    throw refused(thrown, what, writer);
  }
  const text = writer.text;
  // No UTF-16 unit takes more than three bytes, so small values needn't be counted.
  if (text.length * 3 > maxBytes) checkSize(Buffer.byteLength(text), what, maxBytes);
  return text;
}

class JsonWriter {
  text = "";
  frame: Frame | null = null;
  #depth = 0;
  readonly #maxBytes: number;
  readonly #lengthMax: number;
  readonly #extension: JsonExtension | undefined;

  constructor(maxBytes: number, extension: JsonExtension | undefined) {
    this.#maxBytes = maxBytes;
    this.#lengthMax = Math.max(maxBytes, MEASURED_LENGTH_MAX);
    this.#extension = extension;
  }

  write(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.text += quote(value);
        return;
      case "number":
        if (!Number.isFinite(value)) throw new Refusal(`is ${value}`);
        this.text += value;
        return;
      case "boolean":
        this.text += value ? "true" : "false";
        return;
      case "object":
        if (value === null) this.text += "null";
        else this.#writeObject(value);
        return;
      case "undefined":
        throw new Refusal("is undefined: put null in its place, or leave the element out");
      default:
        throw new Refusal(`is a ${typeof value}`);
    }
  }

  #writeObject(value: object): void {
    const isArray = Array.isArray(value);
    if (!(isArray ? isPlainArray(value) : isPlainObject(value))) {
      this.text += this.#extended(value);
      return;
    }
    if (!isArray) refuseSymbolKeys(value);
    if (this.#depth >= PAYLOAD_DEPTH_MAX) throw new Refusal(`is nested deeper than ${PAYLOAD_DEPTH_MAX}`);
    for (let above = this.frame; above !== null; above = above.parent) {
      if (above.value === value) throw new Refusal("contains itself");
    }
    const frame: Frame = { value, parent: this.frame, key: "" };
    this.frame = frame;
    this.#depth += 1;
    if (isArray) this.#writeElements(value, frame);
    else this.#writeProperties(value as Record<string, unknown>, frame);
    this.#depth -= 1;
    this.frame = frame.parent;
  }

  #writeElements(list: readonly unknown[], frame: Frame): void {
    this.text += "[";
    for (let i = 0; i < list.length; i++) {
      frame.key = i;
      if (i > 0) this.text += ",";
      this.write(list[i]);
      if (this.text.length > this.#lengthMax) this.#stop();
    }
    this.text += "]";
  }

  #writeProperties(record: Record<string, unknown>, frame: Frame): void {
    const keys = Object.keys(record);
    const before = this.#extension === undefined ? "" : this.#extension.before(keys);
    let separator = `${before}{`;
    for (const key of keys) {
      frame.key = key;
      const value = record[key];
      if (value === undefined) continue;
      this.text += `${separator + quote(key)}:`;
      separator = ",";
      this.write(value);
      if (this.text.length > this.#lengthMax) this.#stop();
    }
    this.text += separator === "," ? "}" : `${separator}}`;
    if (before !== "") this.text += "}";
  }

  #stop(): never {
    throw new Refusal(`makes it longer than ${this.#lengthMax} bytes; maxPayloadBytes is ${this.#maxBytes}`);
  }

  #extended(value: object): string {
    const text = this.#extension?.write(value);
    if (typeof text === "string") return text;
    throw new Refusal(text ?? `is ${describeUnstorable(value)}`);
  }
}

function quote(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`;
  if (!isStorableText(text)) throw new Refusal("has U+0000 or half a surrogate pair in it, which Postgres can't store");
  return JSON.stringify(text);
}

function refuseSymbolKeys(record: object): void {
  const symbols = Object.getOwnPropertySymbols(record);
  if (symbols.length === 0) return;
  const key = symbols.find((symbol) => Object.getOwnPropertyDescriptor(record, symbol)?.enumerable);
  if (key === FUTURE) throw new Refusal("is the spread of a future: pass the future itself, or parts of it by get");
  if (key !== undefined) throw new Refusal(`has a symbol as a key: ${String(key)}`);
}

function isPlainArray(value: readonly unknown[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Array.prototype || isOfOtherRealm(prototype, "Array", 1);
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isOfOtherRealm(prototype, "Object", 0);
}

/** Whether it is the prototype of a realm's own class: values from `node:vm`, as some test runners use it, are plain data too. */
function isOfOtherRealm(prototype: unknown, name: string, depth: number): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  let top: unknown = prototype;
  for (let i = 0; i <= depth; i++) top = Object.getPrototypeOf(top);
  if (top !== null || !Object.hasOwn(prototype, "constructor")) return false;
  const constructor: unknown = prototype.constructor;
  // A user's class has its source as its text, a realm's own class hasn't.
  return (
    typeof constructor === "function" &&
    Function.prototype.toString.call(constructor) === `function ${name}() { [native code] }`
  );
}

function refused(thrown: unknown, what: string, writer: JsonWriter): CycloneError {
  const path = pathOf(writer.frame);
  if (thrown instanceof Refusal) {
    if (typeof thrown.reason !== "string") return thrown.reason;
    return new InvalidPayloadError(path, `Can't store ${what}: ${path} ${thrown.reason}.`);
  }
  return new InvalidPayloadError(path, `Can't store ${what}: reading it failed at ${path}.`, { cause: thrown });
}

function pathOf(frame: Frame | null): string {
  const keys: (string | number)[] = [];
  for (let at = frame; at !== null; at = at.parent) keys.push(at.key);
  return formatJsonPath(keys.reverse());
}

function checkSize(bytes: number, what: string, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new InvalidPayloadError(
    "$",
    `Can't store ${what}: as JSON it has ${bytes} bytes, and the limit (maxPayloadBytes) is ${maxBytes}. ` +
      "Store the data elsewhere and pass a reference, or raise the limit.",
  );
}
