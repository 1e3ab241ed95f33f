import type { Duration } from "../model/duration.ts";
import type { PayloadMode } from "../model/json.ts";
import type { Schema } from "../model/schema.ts";
import type { ClientLike } from "./client-port.ts";
import type { Definition } from "./definition.ts";
import type { Future } from "./future.ts";
import type { Plan } from "./plan.ts";
import type { Run } from "./run.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";

/** Options of a workflow. */
export interface WorkflowOptions<In, Arg, Mode extends PayloadMode> {
  /** Checks the input before the build. The caller passes the schema's input, the build gets its output. @default none */
  input?: Schema<In, Arg>;
  /** Cancel the rest at once when a node is discarded, instead of letting independent branches end. @default false */
  failFast?: boolean;
  /** How long its runs are kept after their end; a start may say otherwise. @default the client's */
  retention?: Duration;
  /** `"unchecked"` leaves JSON-faithfulness of the input to the run-time check. Types only. @default "json" */
  payload?: Mode;
}

/** A workflow: a function that draws the graph of a run. */
export interface Workflow<In, Out> extends Definition<In, Out> {
  readonly kind: "workflow";
  /**
   * Builds the graph, and inserts the run with all nodes and edges in one transaction: its own, committed once this has resolved, or the
   * caller's with `tx`; then the run exists if and only if that commits.
   * @throws what the build throws; nothing is written then
   * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) with the JSON path
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
   * @throws IdempotencyKeyReusedError (`CYCLONE_IDEMPOTENCY_KEY_REUSED`) if the key's run has another input
   * @throws ConnectionError (`CYCLONE_CONNECTION`) without a usable connection; with `tx` the database's errors come as they are
   * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are missing or older than this code
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  submit(client: ClientLike, input: In, options?: StartOptions): Promise<Run<Out>>;
  /**
   * One run per input, all or none, in one transaction (the caller's, with `tx`); the runs are in the same order. Throws what `submit` throws; a
   * refused input is named by its place.
   */
  submitMany(client: ClientLike, inputs: readonly In[], options?: StartManyOptions<In>): Promise<Run<Out>[]>;
  /**
   * The graph that a submit with this input would insert. Calls the build, and needs no client and no database.
   * @throws what `submit` throws before it writes
   */
  plan(input: In): Plan;
}

/** What a workflow's run gives when its build returns an `R`. */
export type ResultOf<R> = R extends Future<infer Out> ? Out : R;
