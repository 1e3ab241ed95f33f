import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { checkMaxAttempts, checkPriority, checkTimeout } from "../model/execution-limits.ts";
import { checkName } from "../model/names.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import type { ExecutionOptions } from "./execution-options.ts";
import type { Node } from "./future.ts";

/** Options of one node; what is left out comes from the submit, then from the step, then from the defaults. */
export interface NodeOptions extends Pick<ExecutionOptions, "queue" | "priority" | "maxAttempts" | "timeout"> {
  /** Order edges: start only when these have completed. Their outputs don't travel. @default none */
  after?: readonly Node[];
  /** The node's name, unique in the run; may not end in `[digits]`. @default the step's name, then `name-2`, `name-3` */
  name?: string;
}

/** Node options as checked; `undefined`: not given. */
export interface ResolvedNodeOptions {
  readonly after: readonly unknown[];
  readonly name: string | undefined;
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly maxAttempts: number | undefined;
  readonly timeoutMs: number | undefined;
}

const ALLOWED = [
  "after",
  "name",
  "queue",
  "priority",
  "maxAttempts",
  "timeout",
] as const satisfies readonly (keyof NodeOptions)[];
const NONE: ResolvedNodeOptions = {
  after: [],
  name: undefined,
  queue: undefined,
  priority: undefined,
  maxAttempts: undefined,
  timeoutMs: undefined,
};
/** Such as `fetch[3]`: how the item tasks of a forEach are named. */
const INDEXED = /\[\d+\]$/;

/** Whether the name looks like an item task's; such names aren't given to nodes. */
export function endsInIndex(name: string): boolean {
  return INDEXED.test(name);
}

/**
 * @param what such as `a node of step "fetch"`
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function resolveNodeOptions(options: unknown, what: string): ResolvedNodeOptions {
  if (options === undefined) return NONE;
  rejectUnknownKeys(options, ALLOWED, what);
  const { after, name, queue, priority, maxAttempts, timeout } = options as { [K in keyof NodeOptions]: unknown };
  if (after !== undefined && !Array.isArray(after)) {
    throw new InvalidOptionError("after", `after of ${what} must be a list of nodes: write after: [node].`);
  }
  return {
    after: (after as unknown[] | undefined) ?? [],
    name: name === undefined ? undefined : checkNodeName(name, what),
    queue: queue === undefined ? undefined : checkName(queue, `queue of ${what}`, "queue"),
    priority: priority === undefined ? undefined : checkPriority(priority, what),
    maxAttempts: maxAttempts === undefined ? undefined : checkMaxAttempts(maxAttempts, what),
    timeoutMs: timeout === undefined ? undefined : checkTimeout(timeout, what),
  };
}

function checkNodeName(value: unknown, what: string): string {
  const name = checkName(value, `name of ${what}`);
  if (!endsInIndex(name)) return name;
  throw new InvalidOptionError(
    "name",
    `name of ${what} can't be "${name}": names that end in [digits] are those of item tasks.`,
  );
}
