import { inspect } from "node:util";

/** An error as stored: readable, whatever was thrown, and bounded. */
export interface StoredError {
  /** Such as `TypeError`; `NonError` for what wasn't an error. */
  readonly name: string;
  /** At most 8 KiB, cut between code points. */
  readonly message: string;
  /** The error's own code, such as `"ECONNREFUSED"`, an SQLSTATE or `"CYCLONE_TIMEOUT"`. */
  readonly code?: string | number;
  /** At most 16 KiB. */
  readonly stack?: string;
  /** The node that it comes from, in the error of a run. */
  readonly node?: string;
  /** What caused it, nearest first, and the parts of an AggregateError; five at most, without causes of their own. */
  readonly causes?: readonly StoredError[];
}

const NAME_BYTES_MAX = 255;
const CODE_BYTES_MAX = 255;
const MESSAGE_BYTES_MAX = 8 * 1024;
const STACK_BYTES_MAX = 16 * 1024;
const CAUSES_MAX = 5;
/** Parts of an AggregateError without a message of its own that are named in the message. */
const PARTS_MAX = 20;
const CUT = "…";

/** What is thrown may be anything, and anything may throw when it is read: all reads go through `read`. */
type Thrown = object;

/**
 * What a handler threw, as it is stored and shown. Never throws. Reads name, message, stack, code, cause and errors, and
 * nothing else: own properties such as requests and sockets stay out. U+0000 and lone surrogates become U+FFFD.
 */
export function toStoredError(thrown: unknown): StoredError {
  const seen = new Set<unknown>([thrown]);
  const queue = causesOf(thrown);
  const causes: StoredError[] = [];
  for (let next = queue.shift(); next !== undefined && causes.length < CAUSES_MAX; next = queue.shift()) {
    if (seen.has(next.value)) continue;
    seen.add(next.value);
    causes.push(describe(next.value));
    queue.push(...causesOf(next.value));
  }
  const stored = describe(thrown);
  return causes.length === 0 ? stored : { ...stored, causes };
}

function describe(value: unknown): StoredError {
  if (!isObject(value)) return { name: "NonError", message: storableText(showPrimitive(value), MESSAGE_BYTES_MAX) };
  const ownMessage = textOf(value, "message");
  const stack = textOf(value, "stack");
  const name = textOf(value, "name");
  const code = codeOf(value);
  const looksLikeError = ownMessage !== undefined && typeof value !== "function";
  const message = (looksLikeError ? ownMessage || partsMessage(value) : undefined) ?? show(value);
  return {
    name: storableText(looksLikeError ? name || "Error" : "NonError", NAME_BYTES_MAX),
    message: storableText(message, MESSAGE_BYTES_MAX),
    ...(code === undefined ? {} : { code }),
    ...(looksLikeError && stack ? { stack: storableText(stack, STACK_BYTES_MAX) } : {}),
  };
}

/** AggregateErrors of the network stack come with an empty message: theirs is the list of their parts. */
function partsMessage(value: Thrown): string {
  const parts = partsOf(value);
  if (parts.length === 0) return "";
  const texts = parts
    .slice(0, PARTS_MAX)
    .map((part) => (isObject(part) ? (textOf(part, "message") ?? show(part)) : showPrimitive(part)));
  return `${parts.length} errors: ${texts.join("; ")}${parts.length > PARTS_MAX ? `; ${CUT}` : ""}`;
}

/** Boxed, since `undefined` can be a cause that was given. */
function causesOf(value: unknown): { value: unknown }[] {
  if (!isObject(value)) return [];
  const cause = read(value, "cause");
  const parts = partsOf(value).slice(0, CAUSES_MAX);
  return (cause === undefined || cause === null ? parts : [cause, ...parts]).map((value) => ({ value }));
}

function partsOf(value: Thrown): unknown[] {
  try {
    const errors = read(value, "errors");
    return Array.isArray(errors) ? errors.slice(0, PARTS_MAX + 1) : [];
  } catch {
    return []; // a Proxy of a list whose traps throw
  }
}

function codeOf(value: Thrown): string | number | undefined {
  const code = read(value, "code");
  if (typeof code === "number") return Number.isFinite(code) ? code : undefined;
  return typeof code === "string" ? storableText(code, CODE_BYTES_MAX) : undefined;
}

function textOf(value: Thrown, key: string): string | undefined {
  const text = read(value, key);
  return typeof text === "string" ? text : undefined;
}

function read(value: Thrown, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined; // a getter or trap that throws, or a revoked Proxy
  }
}

function show(value: Thrown): string {
  try {
    // Without custom inspection nothing of the value is called.
    return inspect(value, {
      depth: 2,
      customInspect: false,
      maxArrayLength: 20,
      maxStringLength: 1000,
      breakLength: Infinity,
    });
  } catch {
    return typeof value === "function" ? "a function that can't be shown" : "an object that can't be shown";
  }
}

function showPrimitive(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "bigint" ? `${value}n` : String(value); // String, since a template refuses symbols
}

function isObject(value: unknown): value is Thrown {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Well-formed, storable, and at most this many bytes in UTF-8, cut between code points. */
export function storableText(text: string, maxBytes: number): string {
  // No code point takes less than one byte, so what is beyond can be dropped before it is looked at.
  const head = text.length > maxBytes ? text.slice(0, maxBytes + 1) : text;
  const storable = head.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
  return cut(storable, maxBytes);
}

function cut(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  let bytes = Buffer.byteLength(CUT);
  let end = 0;
  for (const point of text) {
    bytes += Buffer.byteLength(point);
    if (bytes > maxBytes) break;
    end += point.length;
  }
  return text.slice(0, end) + CUT;
}
