import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { InvalidPayloadError, type PayloadIssue } from "../errors/invalid-payload-error.ts";
import { formatJsonPath } from "./json-path.ts";

/**
 * A validator of the Standard Schema specification, version 1: zod 4, valibot 1, arktype 2 and others are one.
 * `In` is what it takes, `Out` what it gives back after defaults and transforms.
 */
export interface Schema<In = unknown, Out = In> {
  /** As the specification says: https://standardschema.dev. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
  };
}

/** How many complaints of a schema an error lists. */
const ISSUES_MAX = 20;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it isn't a Standard Schema */
export function checkSchema(value: unknown, option: string, what: string): Schema {
  // arktype's schemas are functions.
  const standard =
    (typeof value === "object" && value !== null) || typeof value === "function"
      ? (value as Partial<Schema>)["~standard"]
      : undefined;
  if (standard?.version === 1 && typeof standard.validate === "function") return value as Schema;
  throw new InvalidOptionError(
    option,
    `${option} of ${what} isn't a Standard Schema (version 1): zod 4, valibot 1 and arktype 2 make them; update the validator, or leave ${option} out.`,
  );
}

/**
 * Checks a value. Gives what the schema gives back, in a Promise only if the schema validates asynchronously.
 * @param what what the value is, for the error: `the input of step "fetch"`
 * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) if the schema refuses it; as a rejection if it is asynchronous
 */
export function validate(schema: Schema, value: unknown, what: string): unknown {
  const outcome = schema["~standard"].validate(value);
  return isPromiseLike(outcome)
    ? Promise.resolve(outcome).then((settled) => accepted(settled, what))
    : accepted(outcome, what);
}

/** Whether {@link validate} gave a Promise; a schema's own output is never one, since a Promise isn't data. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

interface Outcome {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] | undefined;
}

function accepted(outcome: unknown, what: string): unknown {
  const { value, issues } = outcome as Outcome;
  if (issues === undefined) return value;
  const all = issues.map((issue): PayloadIssue => ({ path: pathOf(issue.path ?? []), message: issue.message }));
  const shown = all.slice(0, ISSUES_MAX);
  const list = shown.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
  const rest = all.length > ISSUES_MAX ? `; and ${all.length - ISSUES_MAX} more` : "";
  throw new InvalidPayloadError(all[0]?.path ?? "$", `The schema refuses ${what}: ${list}${rest}`, { issues: shown });
}

/** A segment is a key, or an object that has the key, as the specification allows both. */
function pathOf(segments: readonly unknown[]): string {
  return formatJsonPath(
    segments.map((segment) =>
      typeof segment === "object" && segment !== null && "key" in segment
        ? (segment.key as PropertyKey)
        : (segment as PropertyKey),
    ),
  );
}
