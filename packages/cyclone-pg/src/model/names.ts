import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** Limits of names, in code points; a database schema's is in bytes, as Postgres counts them. */
export const NAME_LENGTH_MAX = 200;
export const KEY_LENGTH_MAX = 255;
export const TAG_LENGTH_MAX = 255;
const SCHEMA_BYTES_MAX = 63;

// U+0000 can't be stored by Postgres; a surrogate without its other half isn't text.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** Whether Postgres can store this text as it is: well-formed, and without U+0000. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/**
 * Checks the name of a step, action, workflow, node, queue or signal: 1 to 200 code points of well-formed text without
 * U+0000. Names are compared byte by byte: nothing is trimmed or folded.
 * @param what such as `the name of a step`
 * @param option what it was given as, such as `queue`
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function checkName(value: unknown, what: string, option = "name"): string {
  return checkText(value, what, NAME_LENGTH_MAX, option);
}

/** Checks an idempotency key: 1 to 255 code points. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkKey(value: unknown, what: string): string {
  return checkText(value, what, KEY_LENGTH_MAX, "idempotencyKey");
}

/** Checks a tag: 1 to 255 code points. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkTag(value: unknown, what: string): string {
  return checkText(value, what, TAG_LENGTH_MAX, "tags");
}

/**
 * Checks the name of a database schema: what Postgres takes when quoted, except the system's own schemas.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function checkSchemaName(value: unknown, what: string): string {
  const name = checkText(value, what, SCHEMA_BYTES_MAX, "schema");
  const bytes = Buffer.byteLength(name);
  if (bytes > SCHEMA_BYTES_MAX) {
    throw new InvalidOptionError("schema", `${what} has ${bytes} bytes: Postgres takes ${SCHEMA_BYTES_MAX} at most.`);
  }
  if (name.startsWith("pg_") || name === "information_schema") {
    throw new InvalidOptionError("schema", `${what} can't be "${name}": that schema belongs to Postgres.`);
  }
  return name;
}

/** The name as a quoted SQL identifier. Only for names that {@link checkSchemaName} has passed. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function checkText(value: unknown, what: string, lengthMax: number, option: string): string {
  if (typeof value !== "string") {
    throw new InvalidOptionError(option, `${what} must be a text, and is ${value === null ? "null" : typeof value}.`);
  }
  if (value === "") throw new InvalidOptionError(option, `${what} is empty: give it at least one character.`);
  if (!isStorableText(value)) {
    throw new InvalidOptionError(
      option,
      `${what} has U+0000 or half a surrogate pair in it: ${JSON.stringify(value.slice(0, 100))}.`,
    );
  }
  // The cheap bound first: a text never has more code points than UTF-16 units.
  if (value.length > lengthMax && countCodePoints(value) > lengthMax) {
    throw new InvalidOptionError(option, `${what} is longer than ${lengthMax} characters: "${value.slice(0, 40)}…".`);
  }
  return value;
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
