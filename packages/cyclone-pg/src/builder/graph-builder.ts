import { DuplicateNodeError } from "../errors/duplicate-node-error.ts";
import { InvalidBuildError } from "../errors/invalid-build-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { isPromiseLike, validate } from "../model/schema.ts";
import { BUILDER, type Builder, type BuilderRuntime } from "./builder.ts";
import type { DefinitionRuntime } from "./definition.ts";
import type { Node } from "./future.ts";
import { createFuture, futureRuntimeOf } from "./future-runtime.ts";
import type { Graph, GraphNode, GraphReference, GraphUpstream } from "./graph.ts";
import { assignNames } from "./node-names.ts";
import { type ResolvedNodeOptions, resolveNodeOptions } from "./node-options.ts";
import { dataRefusal, encodeTemplate, fillNames, foreignRefusal, type Template } from "./template.ts";

/** What a submit says for all nodes that don't say otherwise, with its limit of stored values. */
export interface BuildDefaults {
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly maxPayloadBytes: number;
}

interface Draft {
  readonly step: string;
  readonly name: string | undefined;
  readonly definition: DefinitionRuntime;
  readonly options: ResolvedNodeOptions;
  readonly template: Template;
  readonly upstreams: readonly GraphUpstream[];
}

/** One build's nodes. Open while the build runs; afterwards nothing can be added. */
export class GraphBuilder implements BuilderRuntime {
  readonly workflow: string;
  /** What the build is given. */
  readonly handle: Builder;
  readonly #defaults: BuildDefaults;
  readonly #drafts: Draft[] = [];
  readonly #givenNames = new Set<string>();
  #open = true;

  constructor(workflow: string, defaults: BuildDefaults) {
    this.workflow = workflow;
    this.handle = Object.freeze({ [BUILDER]: this });
    this.#defaults = defaults;
  }

  add(definition: DefinitionRuntime, input: unknown, options: unknown): Node {
    const { kind, name: step } = definition;
    if (!this.#open) {
      throw new InvalidBuildError(
        this.workflow,
        `A node of ${kind} "${step}" can't be added: the build of workflow "${this.workflow}" has returned. Add all nodes before it does.`,
      );
    }
    const resolved = resolveNodeOptions(options, `a node of ${kind} "${step}"`);
    const label = resolved.name ?? step;
    if (resolved.name !== undefined && this.#givenNames.has(resolved.name)) {
      throw new DuplicateNodeError(this.workflow, resolved.name);
    }
    const what = `the input of node "${label}"`;
    const template = encodeTemplate(input, what, this.#defaults.maxPayloadBytes, this);
    if (template.references.length === 0) checkLiteral(definition, input, what);
    const upstreams = this.#upstreamsOf(template, resolved.after, label);
    if (resolved.name !== undefined) this.#givenNames.add(resolved.name);
    const key =
      this.#drafts.push({ step, name: resolved.name, definition, options: resolved, template, upstreams }) - 1;
    return createFuture({ builder: this, key, path: [], hasOutput: kind === "step", label });
  }

  close(): void {
    this.#open = false;
  }

  /** @param result what the build returned */
  finish(result: unknown): Graph {
    const reference = this.#resultOf(result);
    if (this.#drafts.length === 0) {
      throw new InvalidBuildError(
        this.workflow,
        `The build of workflow "${this.workflow}" added no node: a run needs at least one.`,
      );
    }
    const names = assignNames(this.#drafts);
    return { nodes: this.#drafts.map((draft, key) => this.#nodeOf(draft, key, names)), result: reference };
  }

  #nodeOf({ step, definition, options, template, upstreams }: Draft, key: number, names: readonly string[]): GraphNode {
    return {
      key,
      name: names[key] ?? step,
      kind: definition.kind === "action" ? "action" : "step",
      step,
      queue: options.queue ?? this.#defaults.queue ?? definition.options.queue,
      priority: options.priority ?? this.#defaults.priority ?? definition.options.priority,
      maxAttempts: options.maxAttempts ?? definition.options.maxAttempts,
      maxReclaims: definition.options.maxReclaims,
      timeoutMs: options.timeoutMs ?? null,
      input: fillNames(template, names),
      references: template.references,
      upstreams,
    };
  }

  #upstreamsOf({ references }: Template, after: readonly unknown[], label: string): readonly GraphUpstream[] {
    if (after.length === 0 && references.length <= 1) return references.map(({ key }) => ({ key, data: true }));
    const edges = new Map<number, boolean>();
    for (const { key } of references) edges.set(key, true);
    for (const node of after) {
      const runtime = futureRuntimeOf(node);
      if (runtime === undefined) {
        throw new InvalidOptionError(
          "after",
          `after of node "${label}" takes what \`do\` returned, and was given something else.`,
        );
      }
      const refusal = foreignRefusal(runtime, this, `after of node "${label}"`);
      if (refusal !== undefined) throw refusal;
      if (!edges.has(runtime.key)) edges.set(runtime.key, false);
    }
    return [...edges].map(([key, data]) => ({ key, data })).sort((a, b) => a.key - b.key);
  }

  #resultOf(result: unknown): GraphReference | null {
    if (result === undefined) return null;
    const runtime = futureRuntimeOf(result);
    if (runtime !== undefined) {
      const refusal = dataRefusal(runtime, this, "the result");
      if (refusal !== undefined) throw refusal;
      return { key: runtime.key, path: runtime.path };
    }
    const isPromise = isThenable(result);
    // It may reject later on, and nobody else would listen.
    if (isPromise) void Promise.resolve(result).catch(() => undefined);
    throw new InvalidBuildError(
      this.workflow,
      isPromise
        ? `The build of workflow "${this.workflow}" returned a Promise: a build is synchronous. Do the waiting in a step, or before the submit.`
        : `The build of workflow "${this.workflow}" returned something else than a future or nothing: ` +
            "return the future of the node whose output is the result; to combine several, add a step that takes them.",
    );
  }
}

/** A literal is checked at submit, where the caller can mend it; what a schema answers later is the worker's affair. */
function checkLiteral(definition: DefinitionRuntime, input: unknown, what: string): void {
  const schema = definition.options.input;
  if (schema === undefined) return;
  const outcome = validate(schema, input, what);
  if (isPromiseLike(outcome)) void Promise.resolve(outcome).catch(() => undefined);
}

function isThenable(value: unknown): boolean {
  try {
    return isPromiseLike(value);
  } catch {
    return false;
  }
}
