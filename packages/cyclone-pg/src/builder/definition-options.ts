import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { type Backoff, checkBackoff, DEFAULT_BACKOFF } from "../model/backoff.ts";
import { toMilliseconds } from "../model/duration.ts";
import { checkMaxAttempts, checkMaxReclaims, checkPriority, checkTimeout } from "../model/execution-limits.ts";
import { checkName } from "../model/names.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { checkSchema, type Schema } from "../model/schema.ts";
import type { RunKind } from "../model/states.ts";
import type { AnyBuild, AnyHandler, DefinitionRuntime } from "./definition.ts";

/** A definition's options with the defaults filled in. */
export interface ResolvedOptions {
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  /** `null`: no bound. */
  readonly maxReclaims: number | null;
  /** The step's own timeout, which stays in the worker's code; `null`: none. */
  readonly timeoutMs: number | null;
  readonly backoff: Backoff;
  readonly input: Schema | undefined;
  readonly output: Schema | undefined;
  /** Workflows only. */
  readonly failFast: boolean;
  /** Workflows only; `null`: the client's. */
  readonly retentionMs: number | null;
}

const DEFAULTS: ResolvedOptions = {
  queue: "default",
  priority: 0,
  maxAttempts: 25,
  maxReclaims: 10,
  timeoutMs: null,
  backoff: DEFAULT_BACKOFF,
  input: undefined,
  output: undefined,
  failFast: false,
  retentionMs: null,
};

const EXECUTION = ["queue", "priority", "maxAttempts", "backoff", "timeout", "maxReclaims"] as const;
const ALLOWED = {
  step: [...EXECUTION, "input", "output", "payload"],
  action: [...EXECUTION, "input", "payload"],
  workflow: ["input", "payload", "failFast", "retention"],
} as const satisfies Record<RunKind, readonly string[]>;

/**
 * Reads the arguments after a definition's name: `(options?, function?)` or `(function)`.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function resolveDefinition(kind: RunKind, name: unknown, args: readonly unknown[]): DefinitionRuntime {
  const checkedName = checkName(name, `The name of a${kind === "action" ? "n" : ""} ${kind}`);
  const what = `${kind} "${checkedName}"`;
  // arktype's schemas are functions too, but they stand inside the options.
  const first = typeof args[0] === "function" ? undefined : args[0];
  const fn = typeof args[0] === "function" ? args[0] : args[1];
  if (fn !== undefined && typeof fn !== "function") {
    throw new InvalidOptionError("handler", `The last argument of ${what} must be a function, and is a ${typeof fn}.`);
  }
  if (fn === undefined && kind === "workflow") throw new InvalidOptionError("build", `${what} needs a build function.`);
  const options = (first ?? {}) as Record<string, unknown>;
  rejectUnknownKeys(options, ALLOWED[kind], what);
  checkPayloadMode(options["payload"], what);
  return Object.freeze({
    kind,
    name: checkedName,
    handler: kind === "workflow" ? undefined : (fn as AnyHandler | undefined),
    build: kind === "workflow" ? (fn as AnyBuild) : undefined,
    options: resolveOptions(options, what),
  });
}

function resolveOptions(options: Record<string, unknown>, what: string): ResolvedOptions {
  return Object.freeze({
    queue: given(options["queue"], (value) => checkName(value, `queue of ${what}`, "queue"), DEFAULTS.queue),
    priority: given(options["priority"], (value) => checkPriority(value, what), DEFAULTS.priority),
    maxAttempts: given(options["maxAttempts"], (value) => checkMaxAttempts(value, what), DEFAULTS.maxAttempts),
    maxReclaims: given(options["maxReclaims"], (value) => checkMaxReclaims(value, what), DEFAULTS.maxReclaims),
    timeoutMs: given(options["timeout"], (value) => checkTimeout(value, what), DEFAULTS.timeoutMs),
    backoff: given(options["backoff"], (value) => checkBackoff(value, what), DEFAULTS.backoff),
    input: given(options["input"], (value) => checkSchema(value, "input", what), DEFAULTS.input),
    output: given(options["output"], (value) => checkSchema(value, "output", what), DEFAULTS.output),
    failFast: given(options["failFast"], (value) => checkFlag(value, "failFast", what), DEFAULTS.failFast),
    retentionMs: given(options["retention"], (value) => toMilliseconds(value, "retention"), DEFAULTS.retentionMs),
  });
}

/** An option that is `undefined` counts as not given. */
function given<T>(value: unknown, check: (value: unknown) => T, fallback: T): T {
  return value === undefined ? fallback : check(value);
}

function checkFlag(value: unknown, option: string, what: string): boolean {
  if (typeof value === "boolean") return value;
  throw new InvalidOptionError(option, `${option} of ${what} must be true or false.`);
}

function checkPayloadMode(value: unknown, what: string): void {
  if (value === undefined || value === "json" || value === "unchecked") return;
  throw new InvalidOptionError("payload", `payload of ${what} must be "json" or "unchecked".`);
}
