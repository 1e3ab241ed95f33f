import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { DefinitionRuntime } from "./definition.ts";
import type { Node } from "./future.ts";

/** A builder carries its runtime under this key; registered, so that copies of the package can add to each other's builds. */
export const BUILDER: unique symbol = Symbol.for("cyclone-pg.builder");

/**
 * What a build adds nodes to. Each submit has its own; a node or future of another one is refused
 * (`CYCLONE_FOREIGN_FUTURE`).
 */
export interface Builder {
  /** @internal */
  readonly [BUILDER]: BuilderRuntime;
}

/** What a step's or action's `do` calls. */
export interface BuilderRuntime {
  /** The workflow's name, for errors. */
  readonly workflow: string;
  add(definition: DefinitionRuntime, input: unknown, options: unknown): Node;
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it isn't a builder */
export function builderOf(value: unknown, what: string): BuilderRuntime {
  const runtime = typeof value === "object" && value !== null ? (value as Partial<Builder>)[BUILDER] : undefined;
  if (runtime !== undefined) return runtime;
  throw new InvalidOptionError(
    "b",
    `${what} takes the builder first: pass the \`b\` that the workflow's build was given.`,
  );
}
