import type { PayloadMode } from "../model/json.ts";
import type { HANDLER } from "../model/phantoms.ts";
import type { Schema } from "../model/schema.ts";
import type { Builder } from "./builder.ts";
import type { ClientLike } from "./client-port.ts";
import type { Definition } from "./definition.ts";
import type { ExecutionOptions } from "./execution-options.ts";
import type { Node } from "./future.ts";
import type { Input } from "./input.ts";
import type { NodeOptions } from "./node-options.ts";
import type { Run } from "./run.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";
import type { Handler } from "./step.ts";

/** Options of an action. */
export interface ActionOptions<In, Arg, Mode extends PayloadMode> extends ExecutionOptions {
  /** As for a step. @default none */
  input?: Schema<In, Arg>;
  /** As for a step. @default "json" */
  payload?: Mode;
}

/** An action as callers see it. */
export interface ActionContract<In, Arg = In> extends Definition<In, void> {
  readonly kind: "action";
  /** `true`: a worker can register it; `false`: it is a contract, to be implemented. */
  readonly hasHandler: boolean;
  /** @internal */
  readonly [HANDLER]?: Handler<Arg, void>;
  /** Adds a node; it has no output, so it is good for `after` only. Throws what a step's `do` throws. */
  do(b: Builder, input: Input<In>, options?: NodeOptions): Node;
  /** As a step's: starts a standalone job, in the caller's transaction if `tx` is given. Throws what a step's `enqueue` throws. */
  enqueue(client: ClientLike, input: In, options?: StartOptions): Promise<Run<void>>;
  /** As a step's: one job per input, all or none, in one transaction (the caller's, with `tx`). */
  enqueueMany(client: ClientLike, inputs: readonly In[], options?: StartManyOptions<In>): Promise<Run<void>[]>;
}

/** An action with its handler. */
// oxlint-disable-next-line typescript/no-explicit-any -- an action fits every contract of its In, whatever its handler's type
export interface Action<In> extends ActionContract<In, any> {
  readonly hasHandler: true;
}
