import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { checkPriority } from "../model/execution-limits.ts";
import { checkName } from "../model/names.ts";
import { encodePayload } from "../model/payload.ts";
import { isPromiseLike, validate } from "../model/schema.ts";
import type { AnyBuild, DefinitionRuntime } from "./definition.ts";
import type { Graph } from "./graph.ts";
import { type BuildDefaults, GraphBuilder } from "./graph-builder.ts";

/** What a submit or enqueue says about the nodes. */
export interface SubmitDefaults {
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  /** How many bytes each literal may have as JSON. @default 1048576 */
  readonly maxPayloadBytes?: number | undefined;
}

const PAYLOAD_BYTES_MAX = 1_048_576;
const NO_EDGES: readonly [] = [];

/**
 * The graph of one run: a workflow's build is called, a step or action becomes the one node of a standalone job.
 * @returns a Promise only if the definition's input schema validates asynchronously
 * @throws what a build or its input can be refused for: the errors of docs/errors.md below "Declaring and building",
 *   and what the build itself throws
 */
export function graphOf(
  definition: DefinitionRuntime,
  input: unknown,
  submit: SubmitDefaults = {},
): Graph | Promise<Graph> {
  const { kind, name, build } = definition;
  const what = `${kind} "${name}"`;
  const defaults: BuildDefaults = {
    queue: submit.queue === undefined ? undefined : checkName(submit.queue, `queue of ${what}`, "queue"),
    priority: submit.priority === undefined ? undefined : checkPriority(submit.priority, what),
    maxPayloadBytes: submit.maxPayloadBytes ?? PAYLOAD_BYTES_MAX,
  };
  if (build === undefined) {
    // The row holds what the caller passed, not what the schema makes of it: the worker's handler gets that.
    const graph = jobGraph(
      definition,
      encodePayload(input, `the input of ${what}`, defaults.maxPayloadBytes),
      defaults,
    );
    return afterValidation(definition, input, () => graph);
  }
  return afterValidation(definition, input, (accepted) => runBuild(name, build, accepted, defaults));
}

/**
 * As {@link graphOf}, for callers that can't wait.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if the input schema validates asynchronously
 */
export function graphOfSync(definition: DefinitionRuntime, input: unknown): Graph {
  const graph = graphOf(definition, input);
  if (!isPromiseLike(graph)) return graph;
  void graph.catch(() => undefined);
  throw new InvalidOptionError(
    "input",
    `The input schema of ${definition.kind} "${definition.name}" validates asynchronously, so its graph can't be had without waiting.`,
  );
}

function afterValidation(
  definition: DefinitionRuntime,
  input: unknown,
  make: (accepted: unknown) => Graph,
): Graph | Promise<Graph> {
  const schema = definition.options.input;
  if (schema === undefined) return make(input);
  const outcome = validate(schema, input, `the input of ${definition.kind} "${definition.name}"`);
  return isPromiseLike(outcome) ? Promise.resolve(outcome).then(make) : make(outcome);
}

function runBuild(workflow: string, build: AnyBuild, input: unknown, defaults: BuildDefaults): Graph {
  const builder = new GraphBuilder(workflow, defaults);
  try {
    return builder.finish(build(builder.handle, input));
  } finally {
    builder.close();
  }
}

function jobGraph(definition: DefinitionRuntime, input: string | null, defaults: BuildDefaults): Graph {
  const { kind, name, options } = definition;
  const hasOutput = kind === "step";
  return {
    nodes: [
      {
        key: 0,
        name,
        kind: hasOutput ? "step" : "action",
        step: name,
        queue: defaults.queue ?? options.queue,
        priority: defaults.priority ?? options.priority,
        maxAttempts: options.maxAttempts,
        maxReclaims: options.maxReclaims,
        timeoutMs: null,
        input,
        references: NO_EDGES,
        upstreams: NO_EDGES,
      },
    ],
    result: hasOutput ? { key: 0, path: NO_EDGES } : null,
  };
}
