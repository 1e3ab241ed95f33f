import type { CycloneError } from "../errors/cyclone-error.ts";
import { ForeignFutureError } from "../errors/foreign-future-error.ts";
import { FutureMisusedError } from "../errors/future-misused-error.ts";
import { type JsonExtension, writeJson } from "../model/json-writer.ts";
import type { BuilderRuntime } from "./builder.ts";
import { type FutureRuntime, futureRuntimeOf } from "./future-runtime.ts";
import type { GraphReference } from "./graph.ts";

/**
 * A node's declared input while the names of nodes aren't settled. Its JSON is that of the value, where
 * - a future is `{"$future":"<node>","path":["links",0],"ref":<index into references>}`, without `path` for the whole;
 * - a literal object that has a key `$future` or `$literal` itself is wrapped as `{"$literal":{…}}`.
 * Without futures it is the plain value, and nothing is wrapped.
 */
export interface Template {
  /** The JSON text, with U+0000 (which no JSON text has) where each future's node name belongs; `null`: no input. */
  readonly text: string | null;
  /** The key of the node that each U+0000 stands for. */
  readonly mentions: readonly number[];
  readonly references: readonly GraphReference[];
}

const NAME_PLACE = "\0";
const RESERVED = ["$future", "$literal"] as const;

/**
 * Encodes an input that may hold futures of this builder.
 * @param what what the value is, for errors: `the input of node "fetch"`
 * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) for what JSON can't hold
 * @throws ForeignFutureError (`CYCLONE_FOREIGN_FUTURE`), FutureMisusedError (`CYCLONE_FUTURE_MISUSED`) for an action's node
 */
export function encodeTemplate(input: unknown, what: string, maxBytes: number, builder: BuilderRuntime): Template {
  const plain = new TemplateWriter(builder, what, false);
  const text = writeJson(input, what, maxBytes, plain) ?? null;
  // Both futures and reserved keys are rare together: only then is it written a second time, with the keys wrapped.
  if (!plain.reservedKeySeen || plain.references.length === 0) return plain.template(text);
  const wrapping = new TemplateWriter(builder, what, true);
  return wrapping.template(writeJson(input, what, maxBytes, wrapping) ?? null);
}

/** The template's JSON text, once each node has its name. */
export function fillNames(template: Template, names: readonly string[]): string | null {
  const { text, mentions } = template;
  if (text === null || mentions.length === 0) return text;
  let filled = "";
  let from = 0;
  for (const key of mentions) {
    const at = text.indexOf(NAME_PLACE, from);
    filled += text.slice(from, at) + JSON.stringify(names[key]);
    from = at + 1;
  }
  return filled + text.slice(from);
}

class TemplateWriter implements JsonExtension {
  reservedKeySeen = false;
  readonly references: GraphReference[] = [];
  readonly #mentions: number[] = [];
  #indexes: Map<string, number> | undefined;
  readonly #builder: BuilderRuntime;
  readonly #what: string;
  readonly #wraps: boolean;

  constructor(builder: BuilderRuntime, what: string, wraps: boolean) {
    this.#builder = builder;
    this.#what = what;
    this.#wraps = wraps;
  }

  template(text: string | null): Template {
    return { text, mentions: this.#mentions, references: this.references };
  }

  write(value: object): string | CycloneError | undefined {
    const future = futureRuntimeOf(value);
    if (future === undefined) return undefined;
    const refusal = dataRefusal(future, this.#builder, this.#what);
    if (refusal !== undefined) return refusal;
    this.#mentions.push(future.key);
    const path = future.path.length === 0 ? "" : `,"path":${JSON.stringify(future.path)}`;
    return `{"$future":${NAME_PLACE}${path},"ref":${this.#indexOf(future)}}`;
  }

  before(keys: readonly string[]): string {
    if (!RESERVED.some((key) => keys.includes(key))) return "";
    this.reservedKeySeen = true;
    return this.#wraps ? '{"$literal":' : "";
  }

  #indexOf({ key, path }: FutureRuntime): number {
    const id = path.length === 0 ? String(key) : key + JSON.stringify(path);
    this.#indexes ??= new Map();
    const known = this.#indexes.get(id);
    if (known !== undefined) return known;
    const index = this.references.push({ key, path }) - 1;
    this.#indexes.set(id, index);
    return index;
  }
}

/** The error to throw for a future that isn't data of this builder: of another one, or an action's node. */
export function dataRefusal(future: FutureRuntime, builder: BuilderRuntime, what: string): CycloneError | undefined {
  const foreign = foreignRefusal(future, builder, what);
  if (foreign !== undefined || future.hasOutput) return foreign;
  return new FutureMisusedError(
    `In workflow "${builder.workflow}" ${what} takes node "${future.label}", which is an action's and has no output: ` +
      "use it in `after`, or make it a step.",
  );
}

/** The error to throw for a node that isn't this builder's. */
export function foreignRefusal(future: FutureRuntime, builder: BuilderRuntime, what: string): CycloneError | undefined {
  if (future.builder === builder) return undefined;
  const where =
    future.builder.workflow === builder.workflow
      ? `another build of workflow "${builder.workflow}"`
      : `workflow "${future.builder.workflow}"`;
  return new ForeignFutureError(
    `In workflow "${builder.workflow}" ${what} takes node "${future.label}" of ${where}: use only what this build's own \`do\` returned.`,
  );
}
