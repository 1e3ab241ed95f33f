import type { JsonCheck, PayloadMode } from "../model/json.ts";
import type { Builder } from "./builder.ts";
import { portOf } from "./client-port.ts";
import { DEFINITION } from "./definition.ts";
import { resolveDefinition } from "./definition-options.ts";
import type { Future } from "./future.ts";
import { graphOfSync } from "./graph-of.ts";
import { planOf } from "./plan.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";
import type { ResultOf, Workflow, WorkflowOptions } from "./workflow.ts";

/**
 * Defines a workflow. `build` is synchronous and runs once per submit, in the submitting process; it may branch on its
 * input. Return a future to give the run a result, or nothing.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineWorkflow<Arg = void, R extends Future<unknown> | void = void, In = Arg>(
  name: string,
  build: ((b: Builder, input: Arg) => R) & JsonCheck<In, "input">,
): Workflow<In, ResultOf<R>>;
/**
 * Defines a workflow. `build` is synchronous and runs once per submit, in the submitting process; it may branch on its
 * input. Return a future to give the run a result, or nothing.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function defineWorkflow<
  Arg = void,
  R extends Future<unknown> | void = void,
  In = Arg,
  Mode extends PayloadMode = "json",
>(
  name: string,
  options: WorkflowOptions<In, Arg, Mode>,
  build: ((b: Builder, input: Arg) => R) & JsonCheck<In, "input", Mode>,
): Workflow<In, ResultOf<R>>;
export function defineWorkflow(name: string, ...args: readonly unknown[]): unknown {
  const runtime = resolveDefinition("workflow", name, args);
  const what = `workflow "${runtime.name}"`;
  return Object.freeze({
    kind: runtime.kind,
    name: runtime.name,
    [DEFINITION]: runtime,
    submit: async (client: unknown, input: unknown, options?: StartOptions) =>
      portOf(client, `submit of ${what}`).start(runtime, input, options),
    submitMany: async (client: unknown, inputs: readonly unknown[], options?: StartManyOptions<unknown>) =>
      portOf(client, `submitMany of ${what}`).startMany(runtime, inputs, options),
    plan: (input: unknown) => planOf(graphOfSync(runtime, input)),
  });
}
