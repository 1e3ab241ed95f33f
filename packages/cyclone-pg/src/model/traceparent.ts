import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** Version, trace id, parent id, flags; versions after 00 may go on behind another dash. Neither id is all zeros. */
const PATTERN = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:(?<!^00.{53})-[!-~]*)?$/;
const LENGTH_MAX = 255;

/** Checks the header of W3C Trace Context by which a span is named. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function checkTraceparent(value: unknown): string {
  if (typeof value === "string" && value.length <= LENGTH_MAX && PATTERN.test(value)) return value;
  throw new InvalidOptionError(
    "traceparent",
    `traceparent must be as W3C Trace Context has it, "00-<32 hex digits>-<16 hex digits>-<2 hex digits>" in lower case; ${JSON.stringify(String(value).slice(0, 80))} isn't`,
  );
}
