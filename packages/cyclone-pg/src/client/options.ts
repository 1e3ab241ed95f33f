import type { Pool, PoolConfig } from "pg";
import type { Action } from "../builder/action.ts";
import type { Around } from "../builder/around.ts";
import { type DefinitionRuntime, definitionOf } from "../builder/definition.ts";
import type { Step } from "../builder/step.ts";
import type { Workflow } from "../builder/workflow.ts";
import { type ConnectionSource, connectionSource } from "../db/connection-source.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { QueueName } from "../model/cyclone-types.ts";
import { type Duration, toMilliseconds } from "../model/duration.ts";
import { type Logger, quietly } from "../model/logger.ts";
import { checkName, checkSchemaName } from "../model/names.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import type { PreparedStatements } from "../worker/completion-tx/completion-transaction.ts";
import { consoleLog } from "./console-log.ts";

/** What `handlers` takes: things with a handler, and workflows. A contract isn't one: `implement` it first. */
// oxlint-disable-next-line typescript/no-explicit-any -- inputs are parameters: only any takes definitions of all types
export type Registrable = Step<any, any> | Action<any> | Workflow<any, any>;

/** Options of {@link createClient}. */
export interface ClientOptions {
  /**
   * A URL, options of `pg`, or a `pg` Pool. A Pool serves submits and reads and is never ended; what a worker needs for itself it
   * opens beside it with the Pool's options, so that handlers that use the Pool up can't starve the engine.
   */
  connection: string | PoolConfig | Pool;
  /** Where to listen for notifications if `connection` leads through a pooler in transaction mode, which swallows them. @default `connection` */
  directConnection?: string | PoolConfig;
  /** The schema of Cyclone's tables. @default "public" */
  schema?: string;
  /** All that this client runs. None: it is a producer, and `start()` refuses. @default none */
  handlers?: readonly Registrable[];
  /** The queues to claim from, with how many handlers of each may run at once here. @default every queue of the handlers */
  queues?: { readonly [Q in QueueName]?: number };
  /** How many handlers may run at once here, 1 to 10,000. @default the sum of `queues`, else 10 */
  concurrency?: number;
  /** How long a claimed step stays with this worker without a renewal: crash-detection time, not a limit on the handler. At least "1s". @default "30s" */
  leaseTtl?: Duration;
  /** How often to look for work that no notification told of; a bit longer at random. At least "50ms". @default "1s" */
  pollInterval?: Duration;
  /** For how long a handler may keep the event loop from running before its lease is given up. @default "5m" */
  maxBlocked?: Duration;
  /** Whether to be woken by LISTEN. Without it the poll finds everything, later. @default true */
  listen?: boolean;
  /** Whether submits in your transactions notify workers when they commit. @default true */
  notify?: boolean;
  /** How many connections this client may open. @default 10 */
  maxConnections?: number;
  /** The longest JSON text of one stored value, in bytes. @default 1048576 */
  maxPayloadBytes?: number;
  /**
   * The most bytes that the outputs a node's input refers to may have together, as stored (compressed); asked for where there are more than 64
   * of them. @default 67108864
   */
  maxInputBytes?: number;
  /**
   * Whether single-row statements are prepared under a name. `"auto"`: where the connection leads straight to the server, not through a
   * pooler. Batches are planned anew each time in any case. @default "auto"
   */
  preparedStatements?: PreparedStatements;
  /**
   * How long runs are kept after their end, if neither their start nor their workflow says otherwise; then any worker deletes them, with their nodes and
   * attempts, and frees their idempotency keys. Give all workers the same. @default "14d"
   */
  retention?: Duration;
  /** Called around each handler's call here, for what concerns all of them: context, logging, timing. @default none */
  around?: Around;
  /** Where messages go. @default console, warnings and errors only */
  log?: Logger;
}

/** The options, checked and with their defaults. */
export interface ResolvedClientOptions {
  readonly source: ConnectionSource;
  readonly listenSource: ConnectionSource;
  readonly schema: string;
  /** Steps and actions by name. */
  readonly steps: ReadonlyMap<string, DefinitionRuntime>;
  readonly workflows: ReadonlyMap<string, DefinitionRuntime>;
  /** Limits by queue. */
  readonly queues: ReadonlyMap<string, number>;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly maxBlockedMs: number;
  readonly listen: boolean;
  readonly notify: boolean;
  readonly maxConnections: number;
  readonly maxPayloadBytes: number;
  readonly maxInputBytes: number;
  readonly preparedStatements: PreparedStatements;
  readonly retentionMs: number;
  readonly around: Around | undefined;
  readonly log: Logger;
}

const KNOWN = [
  "connection",
  "directConnection",
  "schema",
  "handlers",
  "queues",
  "concurrency",
  "leaseTtl",
  "pollInterval",
  "maxBlocked",
  "listen",
  "notify",
  "maxConnections",
  "maxPayloadBytes",
  "maxInputBytes",
  "preparedStatements",
  "retention",
  "around",
  "log",
] as const satisfies readonly (keyof ClientOptions)[];

const DEFAULTS = {
  schema: "public",
  concurrency: 10,
  leaseTtl: "30s",
  pollInterval: "1s",
  maxBlocked: "5m",
  maxConnections: 10,
  maxPayloadBytes: 1_048_576,
  maxInputBytes: 67_108_864,
  retention: "14d",
} as const satisfies Partial<ClientOptions>;

const CONCURRENCY_MAX = 10_000;
const PAYLOAD_BYTES_MAX = 256 * 1024 * 1024;
const INPUT_BYTES_MAX = 240 * 1024 * 1024;
const LEASE_MIN_MS = 1_000;
const POLL_MIN_MS = 50;
const YEAR_MS = 365 * 86_400_000;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  rejectUnknownKeys(options, KNOWN, "createClient");
  const source = connectionSource(options.connection);
  const { steps, workflows } = register(options.handlers ?? []);
  const queues = queuesOf(options.queues, steps);
  const sum = options.queues === undefined ? undefined : [...queues.values()].reduce((a, b) => a + b, 0);
  return {
    source,
    listenSource:
      options.directConnection === undefined ? source : connectionSource(options.directConnection, "directConnection"),
    schema: checkSchemaName(options.schema ?? DEFAULTS.schema, "schema of createClient"),
    steps,
    workflows,
    queues,
    concurrency: wholeNumber(options.concurrency ?? sum ?? DEFAULTS.concurrency, "concurrency", 1, CONCURRENCY_MAX),
    leaseMs: duration(options.leaseTtl ?? DEFAULTS.leaseTtl, "leaseTtl", LEASE_MIN_MS),
    pollMs: duration(options.pollInterval ?? DEFAULTS.pollInterval, "pollInterval", POLL_MIN_MS),
    maxBlockedMs: duration(options.maxBlocked ?? DEFAULTS.maxBlocked, "maxBlocked", 0),
    listen: flag(options.listen, "listen"),
    notify: flag(options.notify, "notify"),
    maxConnections: wholeNumber(options.maxConnections ?? DEFAULTS.maxConnections, "maxConnections", 1, 1_000),
    maxPayloadBytes: wholeNumber(
      options.maxPayloadBytes ?? DEFAULTS.maxPayloadBytes,
      "maxPayloadBytes",
      1,
      PAYLOAD_BYTES_MAX,
    ),
    maxInputBytes: wholeNumber(options.maxInputBytes ?? DEFAULTS.maxInputBytes, "maxInputBytes", 1, INPUT_BYTES_MAX),
    preparedStatements: preparedStatements(options.preparedStatements),
    retentionMs: duration(options.retention ?? DEFAULTS.retention, "retention", 0),
    around: middleware(options.around),
    log: quietly(options.log ?? consoleLog),
  };
}

function register(handlers: readonly unknown[]): Pick<ResolvedClientOptions, "steps" | "workflows"> {
  if (!Array.isArray(handlers))
    throw new InvalidOptionError("handlers", "handlers must be a list of steps, actions and workflows");
  const steps = new Map<string, DefinitionRuntime>();
  const workflows = new Map<string, DefinitionRuntime>();
  for (const [i, handler] of handlers.entries()) {
    const definition = runnable(handler, `handlers[${i}]`);
    const { kind, name } = definition;
    const known = kind === "workflow" ? workflows : steps;
    const other = known.get(name) ?? definition;
    if (other !== definition) {
      const first = handlers.findIndex((earlier) => definitionOf(earlier) === other);
      throw new InvalidOptionError(
        "handlers",
        `handlers[${first}] and handlers[${i}] are two different definitions named "${name}"${kind === "workflow" ? "" : " (steps and actions share their names)"}: leave one out, or give it another name; one that a function makes is another at each call, so make it once`,
      );
    }
    known.set(name, definition);
  }
  return { steps, workflows };
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
function runnable(handler: unknown, place: string): DefinitionRuntime {
  const definition = definitionOf(handler);
  if (handler === undefined) {
    throw new InvalidOptionError(
      "handlers",
      `${place} is undefined (a circular import?): the module that it comes from hasn't been evaluated yet, or exports no such name`,
    );
  }
  if (definition === undefined)
    throw new InvalidOptionError("handlers", `${place} is neither a step, an action nor a workflow`);
  if (definition.kind !== "workflow" && definition.handler === undefined) {
    throw new InvalidOptionError(
      "handlers",
      `${place}, ${definition.kind} "${definition.name}", is a contract without a handler: register what implement() returns`,
    );
  }
  return definition;
}

function queuesOf(
  given: ClientOptions["queues"],
  steps: ReadonlyMap<string, DefinitionRuntime>,
): ReadonlyMap<string, number> {
  if (given === undefined) {
    return new Map([...steps.values()].map((definition) => [definition.options.queue, Number.POSITIVE_INFINITY]));
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidOptionError("queues", "queues must be an object such as { default: 10, mail: 2 }");
  }
  const queues = new Map<string, number>();
  for (const [name, limit] of Object.entries(given)) {
    queues.set(checkName(name, "queue"), wholeNumber(limit, `queues.${name}`, 1, CONCURRENCY_MAX));
  }
  if (queues.size === 0)
    throw new InvalidOptionError("queues", "queues is empty: leave it out to claim from every queue of the handlers");
  return queues;
}

function wholeNumber(value: unknown, option: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new InvalidOptionError(option, `${option} must be a whole number from ${min} to ${max}, not ${String(value)}`);
}

function duration(value: Duration, option: string, minMs: number): number {
  const ms = toMilliseconds(value, option);
  if (ms < minMs) throw new InvalidOptionError(option, `${option} must be at least ${minMs} ms, not ${ms}`);
  return Math.min(ms, YEAR_MS);
}

function preparedStatements(value: unknown): PreparedStatements {
  if (value === undefined || value === "auto") return "auto";
  if (typeof value === "boolean") return value;
  throw new InvalidOptionError("preparedStatements", 'preparedStatements must be "auto", true or false');
}

function middleware(value: Around | undefined): Around | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw new InvalidOptionError("around", "around must be a function (ctx, next) that calls next() once");
}

function flag(value: unknown, option: string): boolean {
  if (value === undefined) return true;
  if (typeof value === "boolean") return value;
  throw new InvalidOptionError(option, `${option} must be true or false`);
}
