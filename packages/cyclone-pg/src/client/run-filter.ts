import { type Definition, definitionOf } from "../builder/definition.ts";
import type { Instant } from "../builder/start-options.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { QueueName } from "../model/cyclone-types.ts";
import { checkName, isStorableText } from "../model/names.ts";
import { checkInteger, rejectUnknownKeys } from "../model/options.ts";
import type { RunState } from "../model/states.ts";
import { listRuns } from "../sql/read/list-runs.ts";
import { listUnsuccessfulRuns } from "../sql/read/list-unsuccessful-runs.ts";
import type { ListedRunRow, ListRunsParams } from "../sql/read/run-list.ts";
import type { Statement } from "../sql/statement.ts";
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
  /** A text that the name, code or message of the run's error has in it, or one of its causes, in capitals or not. */
  error?: string;
  /** Where the page before ended: its `next`. The filter should be the same. @default the newest run */
  cursor?: string;
  /** Runs in a page, 1 to 1,000. @default 50 */
  limit?: number;
}

/** Which of all runs are cancelled or retried: those that fit everything that is given, and at least one thing is. */
export type BulkFilter = Omit<RunFilter, "cursor" | "limit">;

/** A filter, checked, as the statements take it. */
export interface ResolvedRunFilter {
  readonly params: Omit<ListRunsParams, "bucket" | "before" | "beforeId" | "scan" | "limit">;
  readonly from: RunPosition;
  readonly limit: number;
  /** That of the failed and cancelled ones, whose index is smaller, if none else is asked for. */
  readonly statement: Statement<ListRunsParams, ListedRunRow>;
  /** How many runs a statement looks at: fewer where each run's nodes have to be looked at. */
  readonly scan: number;
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
const BULK_KNOWN = KNOWN.filter((key) => key !== "cursor" && key !== "limit");

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
    tags: tags === undefined ? null : tagsOf(tags),
    error: error === undefined ? null : searchText(error),
    step: step === undefined ? null : namedBy(step, "step").name,
    queue: queue === undefined ? null : checkName(queue, "queue", "queue"),
  };
  return {
    params,
    from: positionOf(cursor, createdBefore === undefined ? undefined : instant(createdBefore, "createdBefore")),
    limit: checkInteger(filter.limit ?? LIMIT, 1, LIMIT_MAX, "limit", what),
    statement: states?.every((one) => one === "failed" || one === "cancelled") ? listUnsuccessfulRuns : listRuns,
    scan: params.step !== null || params.queue !== null ? 1_000 : 10_000,
  };
}

/**
 * A filter of something that changes all it finds: an empty one, or a condition that is there and `undefined`, is a mistake.
 *
 * @param states those that can be changed, of which the first is meant where none is given
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function resolveBulkFilter(filter: BulkFilter, what: string, states: readonly RunState[]): ResolvedRunFilter {
  rejectUnknownKeys(filter, BULK_KNOWN, what);
  for (const [key, value] of Object.entries(filter)) {
    if (value === undefined)
      throw new InvalidOptionError(key, `${what} was given ${key}: undefined, which would fit every run: leave it out`);
  }
  if (filter.tags?.length === 0)
    throw new InvalidOptionError(
      "tags",
      `${what} was given no tag in tags: [], which would fit every run: leave it out`,
    );
  if (Object.keys(filter).length === 0)
    throw new InvalidOptionError(
      "filter",
      `${what} needs a condition: state: "${states[0]}" for all that are ${states[0]}`,
    );
  const resolved = resolveRunFilter({ state: states.slice(0, 1), ...filter }, what);
  const other = resolved.params.states?.find((state) => !states.includes(state));
  if (other === undefined) return resolved;
  throw new InvalidOptionError("state", `${what} finds runs that are ${states.join(" or ")}, none that are ${other}`);
}

/** No tags at all are no condition. */
function tagsOf(tags: unknown): readonly string[] | null {
  const checked = checkTags(tags);
  return checked.length === 0 ? null : checked;
}

function statesOf(state: RunState | readonly RunState[]): readonly RunState[] {
  const states: readonly unknown[] = Array.isArray(state) ? state : [state];
  if (states.length > 0 && states.every((one) => (STATES as readonly unknown[]).includes(one)))
    return states as readonly RunState[];
  throw new InvalidOptionError(
    "state",
    `state must be one or several of ${STATES.join(", ")}: ${JSON.stringify(state)} isn't`,
  );
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
