import { describe, expect, it } from "vitest";
import { checkTraceparent } from "./traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a traceparent", () => {
  it.each([
    `00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-00`,
    `01-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-more`,
  ])("is taken as W3C Trace Context has it: %s", (value) => expect(checkTraceparent(value)).toBe(value));

  it.each([
    "",
    TRACE,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    `01-${TRACE}-${SPAN}-01-${"x".repeat(255)}`,
    `01-${TRACE}-${SPAN}-01-\0`,
    7,
    null,
  ])("is refused where it isn't: %j", (value) => {
    expect(() => checkTraceparent(value)).toThrow(
      expect.objectContaining({ code: "CYCLONE_INVALID_OPTION", option: "traceparent" }),
    );
  });
});
