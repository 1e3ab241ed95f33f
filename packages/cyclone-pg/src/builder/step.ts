import type { PayloadMode } from "../model/json.ts";
import type { HANDLER } from "../model/phantoms.ts";
import type { Schema } from "../model/schema.ts";
import type { Builder } from "./builder.ts";
import type { ClientLike } from "./client-port.ts";
import type { Context } from "./context.ts";
import type { Definition } from "./definition.ts";
import type { ExecutionOptions } from "./execution-options.ts";
import type { Future } from "./future.ts";
import type { Input } from "./input.ts";
import type { NodeOptions } from "./node-options.ts";
import type { Run } from "./run.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";

/** A handler may be sync or async. */
export type Handler<Arg, Ret> = (ctx: Context, input: Arg) => Ret | Promise<Ret>;

/** Options of a step. */
export interface StepOptions<In, Arg, Ret, Out, Mode extends PayloadMode> extends ExecutionOptions {
  /**
   * Checks the input: literals at submit, the whole again before the handler. A caller passes, and the database holds,
   * the schema's input; the handler gets its output (so a transform to `Date` is fine). A refusal at the worker is a
   * failed attempt. @default none
   */
  input?: Schema<In, Arg>;
  /** Checks what the handler returned; what it gives back is stored and is what futures and results have. @default none */
  output?: Schema<Ret, Out>;
  /** `"unchecked"` leaves JSON-faithfulness to the run-time check: for generic factories. Types only. @default "json" */
  payload?: Mode;
}

/**
 * A step as callers see it: name, types, options. It can be put in a graph or enqueued, but a worker can't register it.
 * `Arg` and `Ret` are what its handler will get and return; they differ from `In` and `Out` only through schemas.
 */
export interface StepContract<In, Out, Arg = In, Ret = Out> extends Definition<In, Out> {
  readonly kind: "step";
  /** `true`: a worker can register it; `false`: it is a contract, to be implemented. */
  readonly hasHandler: boolean;
  /** @internal */
  readonly [HANDLER]?: Handler<Arg, Ret>;
  /**
   * Adds a node; calls nothing. Futures in `input` make data edges, `after` makes order edges. A step without an input has
   * `In = void`, and `step.do(b)` is enough.
   * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) with the path of what can't be stored
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for an option that can't be used; an unknown one gets a suggestion
   * @throws DuplicateNodeError (`CYCLONE_DUPLICATE_NODE`) if another node of the build was given the same name
   * @throws ForeignFutureError (`CYCLONE_FOREIGN_FUTURE`) for a node or future of another build
   * @throws InvalidBuildError (`CYCLONE_INVALID_BUILD`) once the build has returned
   */
  do(b: Builder, input: Input<In>, options?: NodeOptions): Future<Out>;
  /**
   * Starts a standalone job: a run with one node. Once this has resolved the job is committed; with `tx` it joins the caller's transaction
   * instead, and exists if and only if that commits.
   * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) with the JSON path
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
   * @throws IdempotencyKeyReusedError (`CYCLONE_IDEMPOTENCY_KEY_REUSED`) if the key's run has another input
   * @throws ConnectionError (`CYCLONE_CONNECTION`) without a usable connection; with `tx` the database's errors come as they are
   * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are missing or older than this code
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  enqueue(client: ClientLike, input: In, options?: StartOptions): Promise<Run<Out>>;
  /**
   * Starts one job per input, all or none, in one transaction (the caller's, with `tx`); the runs are in the same order. Throws what `enqueue`
   * throws; a refused input is named by its place.
   */
  enqueueMany(client: ClientLike, inputs: readonly In[], options?: StartManyOptions<In>): Promise<Run<Out>[]>;
}

/** A step with its handler. */
// oxlint-disable-next-line typescript/no-explicit-any -- a step fits every contract of its In and Out, whatever its handler's types
export interface Step<In, Out> extends StepContract<In, Out, any, any> {
  readonly hasHandler: true;
}
