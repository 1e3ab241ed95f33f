import { describe, expect, test } from "vitest";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { DURATION_MS_MAX, parseDuration, toMilliseconds } from "./duration.ts";

describe("a duration", () => {
  test.each([
    [0, 0],
    [-0, 0],
    [1.4, 1],
    [500, 500],
    ["500ms", 500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["0s", 0],
    ["36500d", DURATION_MS_MAX],
  ])("%s is %d ms", (duration, ms) => {
    expect(toMilliseconds(duration, "timeout")).toBe(ms);
  });

  test.each([
    "",
    "30",
    "30 s",
    " 30s",
    "30s ",
    "30S",
    "30sec",
    "-5s",
    "1e3s",
    "0x1s",
    "1.s",
    "1h30m",
    "NaN",
    "Infinitys",
    "36501d",
    "٣s",
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    DURATION_MS_MAX + 1,
    undefined,
    null,
    true,
    {},
    [],
    5n,
    Symbol("x"),
    new Date(),
  ])("can't be %s", (duration) => {
    const attempt = () => toMilliseconds(duration, "timeout");
    expect(attempt).toThrow(InvalidOptionError);
    expect(attempt).toThrow(/^timeout: .* isn't a duration: give .*"30s"/);
  });

  test("is read from text by parseDuration, which lists the forms when it can't", () => {
    expect(parseDuration("1m")).toBe(60_000);
    expect(() => parseDuration("a minute")).toThrow(/"a minute" isn't a duration.*"500ms".*"7d"/);
  });
});
