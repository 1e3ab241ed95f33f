import type { INPUT, OUTPUT } from "../model/phantoms.ts";
import type { RunKind } from "../model/states.ts";
import type { Builder } from "./builder.ts";
import type { Context } from "./context.ts";
import type { ResolvedOptions } from "./definition-options.ts";

/** Every definition carries its runtime under this key; registered, so that copies of the package know each other's. */
export const DEFINITION: unique symbol = Symbol.for("cyclone-pg.definition");

/** What is common to all that can be started: `In` is what a caller passes, `Out` what arrives. */
export interface Definition<In, Out> {
  /** What it is. */
  readonly kind: RunKind;
  /** The identity: 1 to 200 characters. Steps and actions share a namespace, workflows have their own. */
  readonly name: string;
  /** @internal */
  readonly [INPUT]?: (input: In) => void;
  /** @internal */
  readonly [OUTPUT]?: Out;
}

/** The output type of a step or workflow, `void` for an action: `OutputOf<typeof ingest>`. */
// oxlint-disable-next-line typescript/no-explicit-any -- any input matches; unknown wouldn't, it is a parameter
export type OutputOf<D> = D extends Definition<any, infer Out> ? Out : never;
/** What a caller passes to a step, action or workflow: `InputOf<typeof ingest>`. */
export type InputOf<D> = D extends { readonly [INPUT]?: (input: infer In) => void } ? In : never;

/** A user's function, with its types forgotten. */
export type AnyHandler = (ctx: Context, input: unknown) => unknown;
/** A workflow's build, with its types forgotten. */
export type AnyBuild = (b: Builder, input: unknown) => unknown;

/** What a definition is at run time. */
export interface DefinitionRuntime {
  readonly kind: RunKind;
  readonly name: string;
  /** A step's or action's handler; `undefined` on a contract and on a workflow. */
  readonly handler: AnyHandler | undefined;
  /** A workflow's build; `undefined` on steps and actions. */
  readonly build: AnyBuild | undefined;
  readonly options: ResolvedOptions;
}

/** The runtime of a definition, also of another copy of the package; `undefined` for anything else. */
export function definitionOf(value: unknown): DefinitionRuntime | undefined {
  return typeof value === "object" && value !== null
    ? (value as { readonly [DEFINITION]?: DefinitionRuntime })[DEFINITION]
    : undefined;
}
