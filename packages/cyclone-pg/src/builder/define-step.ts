import type { JsonCheck, PayloadMode } from "../model/json.ts";
import { resolveDefinition } from "./definition-options.ts";
import { createNodeDefinition } from "./node-definition.ts";
import type { Handler, Step, StepContract, StepOptions } from "./step.ts";

// The order of these overloads matters: when none fits, TypeScript 7 prints only the last one's reason.
/**
 * Without a handler: a contract that a producer imports. Give the types (`defineStep<In, Out>("fetch")`) or schemas.
 * `implement` supplies the handler in the worker's code.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineStep<Arg = void, Ret = void, In = Arg, Out = Ret, Mode extends PayloadMode = "json">(
  name: string & JsonCheck<In, "input", Mode> & JsonCheck<Out, "output", Mode>,
  options?: StepOptions<In, Arg, Ret, Out, Mode>,
): StepContract<In, Out, Arg, Ret>;
/**
 * Defines a step: a named function whose output is stored. Types come from the handler, or from the schemas.
 * A payload type that JSON can't hold is a compile error that names its path.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineStep<Arg = void, Ret = void, In = Arg, Out = Ret, Mode extends PayloadMode = "json">(
  name: string,
  options: StepOptions<In, Arg, Ret, Out, Mode>,
  handler: Handler<Arg, Ret> & JsonCheck<In, "input", Mode> & JsonCheck<Out, "output", Mode>,
): Step<In, Out>;
/**
 * Defines a step: a named function whose output is stored. Types come from the handler, or from the schemas.
 * A payload type that JSON can't hold is a compile error that names its path.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineStep<Arg = void, Ret = void, In = Arg, Out = Ret>(
  name: string,
  handler: Handler<Arg, Ret> & JsonCheck<In, "input"> & JsonCheck<Out, "output">,
): Step<In, Out>;
export function defineStep(name: string, ...args: readonly unknown[]): unknown {
  return createNodeDefinition(resolveDefinition("step", name, args));
}
