import { type Definition, definitionOf } from "../builder/definition.ts";
import type { Instant } from "../builder/start-options.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { QueueName } from "../model/cyclone-types.ts";
import { checkName, isStorableText } from "../model/names.ts";
import { checkInteger, rejectUnknownKeys } from "../model/options.ts";
import type { RunState } from "../model/states.ts";
import type { ListRunsParams } from "../sql/read/run-list.ts";
import { checkTags, instant } from "./resolve-start.ts";
import { positionOf, type RunPosition } from "./run-cursor.ts";

/** Which runs are meant: those that fit everything that is given. */
export interface RunFilter {
  /** One state, or several. @default all */
  state?: RunState | readonly RunState[];
  /** What they were started from: a workflow, step or action, or just its name. @default anything */
  // oxlint-disable-next-line typescript/no-explicit-any -- inputs are parameters: only any takes definitions of all types
  definition?: Definition<any, any> | string;
  /** Only runs with a node of this step or action. It takes a look at each run's nodes. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  step?: Definition<any, any> | string;
  /** Only runs with a node in this queue. It takes a look at each run's nodes. */
  queue?: QueueName;
  /** Only runs that have all of these tags. */
  tags?: readonly string[];
  /** Not older than this, by the database's clock. */
  createdAfter?: Instant;
  /** Older than this. */
  createdBefore?: Instant;
  /** A text that the name, code or message of the run's error has in it, in capitals or not. */
  error?: string;
  /** Where the page before ended: its `next`. The filter should be the same. @default the newest run */
  cursor?: string;
  /** Runs in a page, 1 to 1,000. @default 50 */
  limit?: number;
}

/** A filter, checked, as the statements take it. */
export interface ResolvedRunFilter {
  readonly params: Omit<ListRunsParams, "bucket" | "before" | "beforeId" | "scan" | "limit">;
  readonly from: RunPosition;
  readonly limit: number;
  /** All that is asked for is in the index of the failed and cancelled ones. */
  readonly unsuccessful: boolean;
  /** Each run's nodes have to be looked at. */
  readonly byNodes: boolean;
}

const KNOWN = [
  "state",
  "definition",
  "step",
  "queue",
  "tags",
  "createdAfter",
  "createdBefore",
  "error",
  "cursor",
  "limit",
] as const satisfies readonly (keyof RunFilter)[];

const STATES = ["running", "completed", "failed", "cancelled"] as const satisfies readonly RunState[];
const LIMIT = 50;
const LIMIT_MAX = 1_000;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function resolveRunFilter(filter: RunFilter, what: string): ResolvedRunFilter {
  rejectUnknownKeys(filter, KNOWN, what);
  const { state, definition, step, queue, tags, createdAfter, createdBefore, error, cursor } = filter;
  const states = state === undefined ? null : statesOf(state);
  const started = definition === undefined ? undefined : namedBy(definition, "definition");
  const params = {
    since: createdAfter === undefined ? "-infinity" : instant(createdAfter, "createdAfter"),
    states,
    kind: started?.kind ?? null,
    name: started?.name ?? null,
    tags: tags === undefined ? null : checkTags(tags),
    error: error === undefined ? null : searchText(error),
    step: step === undefined ? null : namedBy(step, "step").name,
    queue: queue === undefined ? null : checkName(queue, "queue", "queue"),
  };
  return {
    params,
    from: positionOf(cursor, createdBefore === undefined ? undefined : instant(createdBefore, "createdBefore")),
    limit: checkInteger(filter.limit ?? LIMIT, 1, LIMIT_MAX, "limit", what),
    unsuccessful: states?.every((one) => one === "failed" || one === "cancelled") ?? false,
    byNodes: params.step !== null || params.queue !== null,
  };
}

function statesOf(state: RunState | readonly RunState[]): readonly RunState[] {
  const states: readonly unknown[] = Array.isArray(state) ? state : [state];
  if (states.length > 0 && states.every((one) => (STATES as readonly unknown[]).includes(one)))
    return states as readonly RunState[];
  throw new InvalidOptionError("state", `state must be one or several of ${STATES.join(", ")}: ${String(state)} isn't`);
}

function namedBy(value: unknown, option: string): { readonly kind?: string; readonly name: string } {
  if (typeof value === "string") return { name: checkName(value, option, option) };
  const definition = definitionOf(value);
  if (definition === undefined || (option === "step" && definition.kind === "workflow")) {
    const kinds = option === "step" ? "a step, an action" : "a step, an action, a workflow";
    throw new InvalidOptionError(option, `${option} must be ${kinds} or a name`);
  }
  return { kind: definition.kind, name: definition.name };
}

function searchText(value: unknown): string {
  if (typeof value === "string" && value !== "" && isStorableText(value)) return value;
  throw new InvalidOptionError("error", "error must be a text to look for, not empty and without U+0000");
}
