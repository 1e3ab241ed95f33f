import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { BACKOFF_MS_MAX, type Backoff, backoffDelayMs, checkBackoff, DEFAULT_BACKOFF } from "./backoff.ts";

const error = { name: "Error", message: "m" };
const whole = () => 1;
const delay = (backoff: unknown, attempt = 1, random = whole) =>
  backoffDelayMs(backoff as Backoff, attempt, error, random);

describe("the default backoff", () => {
  test("doubles from a second up to an hour", () => {
    expect([1, 2, 3, 4, 12, 13, 30].map((attempt) => delay(DEFAULT_BACKOFF, attempt))).toEqual([
      1000, 2000, 4000, 8000, 2_048_000, 3_600_000, 3_600_000,
    ]);
  });

  test("draws from half of the delay to the whole", () => {
    expect(delay(DEFAULT_BACKOFF, 4, () => 0)).toBe(4000);
    expect(delay(DEFAULT_BACKOFF, 4, () => 0.5)).toBe(6000);
    expect(delay(DEFAULT_BACKOFF, 4, () => 1)).toBe(8000);
  });

  test.each([30, 31, 32, 33, 63, 64, 500, 1000, 1e9, Number.MAX_VALUE, Infinity])(
    "at attempt %d is an hour",
    (attempt) => {
      expect(delay(DEFAULT_BACKOFF, attempt)).toBe(3_600_000);
    },
  );

  test.each([0, -1, Number.NaN])("takes attempt %d for the first", (attempt) => {
    expect(delay(DEFAULT_BACKOFF, attempt)).toBe(1000);
  });
});

describe("a backoff of one's own", () => {
  test("as a duration is fixed, without jitter", () => {
    expect([1, 5, 500].map((attempt) => delay("30s", attempt, () => 0))).toEqual([30_000, 30_000, 30_000]);
    expect(delay(0)).toBe(0);
  });

  test("as an object takes base, factor, max and jitter", () => {
    expect(
      [1, 2, 3, 4].map((attempt) => delay({ base: "2s", factor: 3, max: "50s", jitter: "none" }, attempt)),
    ).toEqual([2000, 6000, 18_000, 50_000]);
    expect(delay({ base: 1000, jitter: "full" }, 1, () => 0)).toBe(0);
    expect(delay({ base: 1000, jitter: "full" }, 1, () => 0.25)).toBe(250);
    expect(delay({ base: 1000, factor: 1, jitter: "none" }, 100)).toBe(1000);
    expect(delay({ base: 0 }, 5000)).toBe(0);
  });

  test("as a function gets the attempt and its error", () => {
    const seen: unknown[] = [];
    expect(delay((...args: unknown[]) => (seen.push(args), "7s"), 3)).toBe(7000);
    expect(seen).toEqual([[3, error]]);
  });

  test("is cut at 365 days", () => {
    expect(delay("400d")).toBe(BACKOFF_MS_MAX);
    expect(delay(() => 1e300)).toBe(BACKOFF_MS_MAX);
    expect(delay({ base: 1e300, jitter: "none" })).toBe(3_600_000); // its max is still an hour
    expect(delay({ base: 1e300, max: 1e300, jitter: "none" })).toBe(BACKOFF_MS_MAX);
  });

  test.each([
    ["NaN", () => Number.NaN],
    ["-1", () => -1],
    ["Infinity", () => Infinity],
    ["a text that is no duration", () => "soon"],
    ["a Promise", async () => "5s"],
    ["nothing", () => undefined],
    ["a bigint", () => 5n],
  ])("that is a function and returns %s gives way to the default", (_name, backoff) => {
    expect(delay(backoff, 3)).toBe(4000);
  });

  test.each([
    [
      "a function that throws",
      () => {
        throw new Error("no");
      },
    ],
    ["NaN", Number.NaN],
    ["a negative number", -5],
    ["Infinity", Infinity],
    ["a text that is no duration", "soon"],
    ["nothing", undefined],
    ["null", null],
    ["an unusable base", { base: Number.NaN }],
    [
      "a getter that throws",
      {
        get base() {
          throw new Error("no");
        },
      },
    ],
  ])("that is %s gives way to the default", (_name, backoff) => {
    expect(delay(backoff, 3)).toBe(4000);
  });

  test.each([Number.NaN, 0, -2, 0.5, "2"])("with the factor %s takes 2", (factor) => {
    expect(delay({ base: 1000, factor, jitter: "none" }, 3)).toBe(4000);
  });

  test("always gives whole milliseconds from 0 to 365 days", () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(1e308, -0, Number.MIN_VALUE));
    const duration = fc.oneof(number, fc.string(), fc.anything());
    const backoff = fc.oneof(
      duration,
      fc.record(
        {
          base: duration,
          factor: duration,
          max: duration,
          jitter: fc.oneof(fc.string(), fc.constantFrom("half", "full", "none")),
        },
        { requiredKeys: [] },
      ),
      duration.map((value) => () => value),
    );
    fc.assert(
      fc.property(
        backoff,
        fc.oneof(number, fc.integer({ min: 1, max: 2000 })),
        fc.double(),
        (chosen, attempt, drawn) => {
          const ms = delay(chosen, attempt, () => drawn);
          expect(Number.isInteger(ms) && ms >= 0 && ms <= BACKOFF_MS_MAX).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("where it is given", () => {
  test.each([5, "5s", Number.NaN, 1e300, () => 5, { base: "1s" }, { base: 1e300, factor: 0, max: -1, jitter: "full" }])(
    "a backoff may be %s",
    (backoff) => {
      expect(checkBackoff(backoff, 'step "x"')).toBe(backoff);
    },
  );

  test.each([
    ["soon", "backoff"],
    [null, "backoff"],
    [true, "backoff"],
    [{}, "backoff"],
    [{ base: "soon" }, "backoff.base"],
    [{ base: 1, max: "later" }, "backoff.max"],
    [{ base: 1, jitter: "some" }, "backoff.jitter"],
    [{ base: 1, facotr: 3 }, "facotr"],
  ])("%j is a mistake that is told at once", (backoff, option) => {
    expect(() => checkBackoff(backoff, 'step "x"')).toThrow(InvalidOptionError);
    expect(() => checkBackoff(backoff, 'step "x"')).toThrow(expect.objectContaining({ option }));
  });
});
