import { writeJson } from "./json-writer.ts";

/**
 * The JSON text of an input, output or signal payload, `null` for `undefined`. What can be read back differently is
 * refused, never changed: only properties that are `undefined` are left out, and -0 becomes 0.
 * @param what what the value is, for the error: `the output of node "fetch"`
 * @param maxBytes how long the text may be in UTF-8
 * @throws InvalidPayloadError (`CYCLONE_INVALID_PAYLOAD`) with the JSON path; also for values that throw when they are read
 */
export function encodePayload(value: unknown, what: string, maxBytes: number): string | null {
  return writeJson(value, what, maxBytes) ?? null;
}
