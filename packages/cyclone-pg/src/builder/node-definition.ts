import { builderOf } from "./builder.ts";
import { portOf } from "./client-port.ts";
import { DEFINITION, type DefinitionRuntime } from "./definition.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";

/** The object behind a step, an action, or a contract of one; the types are put on by who defines it. */
export function createNodeDefinition(runtime: DefinitionRuntime): unknown {
  const { kind, name } = runtime;
  const what = `${kind} "${name}"`;
  return Object.freeze({
    kind,
    name,
    hasHandler: runtime.handler !== undefined,
    [DEFINITION]: runtime,
    do: (b: unknown, input: unknown, options?: unknown) => builderOf(b, `do of ${what}`).add(runtime, input, options),
    enqueue: async (client: unknown, input: unknown, options?: StartOptions) =>
      portOf(client, `enqueue of ${what}`).start(runtime, input, options),
    enqueueMany: async (client: unknown, inputs: readonly unknown[], options?: StartManyOptions<unknown>) =>
      portOf(client, `enqueueMany of ${what}`).startMany(runtime, inputs, options),
  });
}
