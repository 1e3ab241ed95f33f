import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { Action, ActionContract } from "./action.ts";
import { type AnyHandler, definitionOf } from "./definition.ts";
import { createNodeDefinition } from "./node-definition.ts";
import type { Handler, Step, StepContract } from "./step.ts";

/* oxlint-disable typescript/no-explicit-any -- each `any` stands for "whatever the contract says", which unknown and never don't */

/** Any step or action, with or without a handler. */
export type AnyContract = StepContract<any, any, any, any> | ActionContract<any, any>;

/** The handler that a contract asks for; name it to write handlers apart: `const h: HandlerOf<typeof fetchPage> = …`. */
export type HandlerOf<C> =
  C extends StepContract<any, any, infer Arg, infer Ret>
    ? Handler<Arg, Ret>
    : C extends ActionContract<any, infer Arg>
      ? Handler<Arg, void>
      : never;

/** What {@link implement} makes of a contract. */
export type Implemented<C> =
  C extends StepContract<infer In, infer Out, any, any>
    ? Step<In, Out>
    : C extends ActionContract<infer In, any>
      ? Action<In>
      : never;

/**
 * Supplies the handler of a contract. The contract itself is unchanged; register what this returns.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function implement<C extends AnyContract>(contract: C, handler: NoInfer<HandlerOf<C>>): Implemented<C> {
  const runtime = definitionOf(contract);
  if (runtime === undefined || runtime.kind === "workflow") {
    throw new InvalidOptionError("contract", "implement takes what defineStep or defineAction returned.");
  }
  if (typeof handler !== "function") {
    throw new InvalidOptionError("handler", `implement needs a handler for ${runtime.kind} "${runtime.name}".`);
  }
  return createNodeDefinition(Object.freeze({ ...runtime, handler: handler as AnyHandler })) as Implemented<C>;
}
