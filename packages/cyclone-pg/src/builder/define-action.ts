import type { JsonCheck, PayloadMode } from "../model/json.ts";
import type { Action, ActionContract, ActionOptions } from "./action.ts";
import { resolveDefinition } from "./definition-options.ts";
import { createNodeDefinition } from "./node-definition.ts";
import type { Handler } from "./step.ts";

/** Without a handler: a contract. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function defineAction<Arg = void, In = Arg, Mode extends PayloadMode = "json">(
  name: string & JsonCheck<In, "input", Mode>,
  options?: ActionOptions<In, Arg, Mode>,
): ActionContract<In, Arg>;
/**
 * Defines an action: a named function whose output isn't stored, so it may not return one.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineAction<Arg = void, In = Arg, Mode extends PayloadMode = "json">(
  name: string,
  options: ActionOptions<In, Arg, Mode>,
  handler: Handler<Arg, void> & JsonCheck<In, "input", Mode>,
): Action<In>;
/**
 * Defines an action: a named function whose output isn't stored, so it may not return one.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineAction<Arg = void, In = Arg>(
  name: string,
  handler: Handler<Arg, void> & JsonCheck<In, "input">,
): Action<In>;
export function defineAction(name: string, ...args: readonly unknown[]): unknown {
  return createNodeDefinition(resolveDefinition("action", name, args));
}
