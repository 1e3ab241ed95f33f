import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type StoredError, toStoredError } from "./stored-error.ts";

const boom = (): never => {
  throw new Error("boom");
};

describe("an error as stored", () => {
  test("has its name, message, stack and code", () => {
    const error = Object.assign(new TypeError("bad"), { code: "E_BAD" });
    expect(toStoredError(error)).toEqual({ name: "TypeError", message: "bad", code: "E_BAD", stack: error.stack });
    expect(toStoredError(Object.assign(new Error("x"), { code: 42 })).code).toBe(42);
    expect(toStoredError(Object.assign(new Error("x"), { code: { a: 1 } }))).not.toHaveProperty("code");
    expect(toStoredError(Object.assign(new Error("x"), { code: Number.NaN }))).not.toHaveProperty("code");
  });

  test("leaves the error's other properties out, circular ones too", () => {
    const error: Error & { request?: unknown; password?: string } = new Error("failed");
    error.request = { res: { req: error }, socket: Buffer.alloc(10), secret: "s3cret" };
    expect(JSON.stringify(toStoredError(error))).not.toMatch(/secret|socket|request/);
  });

  test("lists its causes, nearest first, five at most", () => {
    let error = new Error("0");
    for (let i = 1; i <= 9; i++) error = new Error(String(i), { cause: error });
    const stored = toStoredError(error);
    expect(stored.message).toBe("9");
    expect(stored.causes?.map((cause) => cause.message)).toEqual(["8", "7", "6", "5", "4"]);
    expect(stored.causes?.every((cause) => cause.causes === undefined)).toBe(true);
  });

  test("ends at a cause that comes round", () => {
    const a = new Error("a");
    const b = new Error("b", { cause: a });
    a.cause = b;
    expect(toStoredError(a).causes?.map((cause) => cause.message)).toEqual(["b"]);
    const self = new Error("self");
    self.cause = self;
    expect(toStoredError(self)).not.toHaveProperty("causes");
  });

  test("takes causes that aren't errors", () => {
    expect(toStoredError(new Error("x", { cause: "a text" })).causes).toEqual([
      { name: "NonError", message: "a text" },
    ]);
  });

  test("of an AggregateError without a message says what its parts say", () => {
    const stored = toStoredError(new AggregateError([new Error("connect ::1"), "a text", new RangeError("late")]));
    expect(stored.message).toBe("3 errors: connect ::1; a text; late");
    expect(stored.causes?.map((cause) => cause.name)).toEqual(["Error", "NonError", "RangeError"]);
    expect(toStoredError(new AggregateError([new Error("a")], "own")).message).toBe("own");
    expect(
      toStoredError(new AggregateError(Array.from({ length: 1000 }, (_, i) => new Error(`e${i}`)))).message,
    ).toMatch(/e19; …$/);
  });
});

describe("what isn't an error is stored readably", () => {
  test.each([
    ["a text", "a text"],
    ["", ""],
    [undefined, "undefined"],
    [null, "null"],
    [42, "42"],
    [-0, "0"],
    [10n, "10n"],
    [true, "true"],
    [Symbol("s"), "Symbol(s)"],
    [{ reason: "no", nested: { deep: [1] } }, "{ reason: 'no', nested: { deep: [ 1 ] } }"],
    [[1, "a"], "[ 1, 'a' ]"],
    [function named() {}, "[Function: named]"],
    [RangeError, "[Function: RangeError]"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
  ])("%s", (thrown, message) => {
    expect(toStoredError(thrown)).toEqual({ name: "NonError", message });
  });

  test("an object with a message is taken for an error", () => {
    expect(toStoredError({ message: "from elsewhere", code: 5 })).toEqual({
      name: "Error",
      message: "from elsewhere",
      code: 5,
    });
  });
});

describe("what resists being read is stored all the same", () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const getter = (key: string): unknown => Object.defineProperty(new Error("real"), key, { get: boom });
  test.each([
    ["a revoked Proxy", revoked.proxy],
    ["a Proxy that throws at everything", new Proxy({}, new Proxy({}, { get: boom }))],
    [
      "a Proxy that throws in `has` and `get`",
      new Proxy(new Error("x"), { has: boom, get: boom, getPrototypeOf: boom, ownKeys: boom }),
    ],
    ["a message that throws", getter("message")],
    ["a name that throws", getter("name")],
    ["a stack that throws", getter("stack")],
    ["a cause that throws", getter("cause")],
    ["errors that throw", getter("errors")],
    ["a message that isn't text", Object.assign(new Error("x"), { message: { toString: boom } })],
    [
      "an object with hostile texts",
      {
        toString: boom,
        [Symbol.toPrimitive]: boom,
        get [Symbol.toStringTag]() {
          return boom();
        },
      },
    ],
    ["an object with hostile inspection", { [Symbol.for("nodejs.util.inspect.custom")]: boom }],
    ["errors that are a revoked Proxy", Object.assign(new Error("x"), { errors: revoked.proxy })],
    ["a Proxy of a list as errors", Object.assign(new Error(""), { errors: new Proxy([1], { get: boom }) })],
    ["a function that is a Proxy", new Proxy(() => 1, { get: boom })],
    ["an object without a prototype", Object.create(null)],
  ])("%s", (_what, thrown) => {
    const stored = toStoredError(thrown);
    expect(typeof stored.name).toBe("string");
    expect(typeof stored.message).toBe("string");
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
  });

  test("anything at all: it never throws, and always fits its limits", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withSparseArray: true,
          withTypedArray: true,
        }),
        fc.anything(),
        (thrown, message) => {
          for (const value of [
            thrown,
            { message, cause: thrown },
            Object.assign(new Error("x"), { message, errors: thrown }),
          ])
            checkLimits(toStoredError(value));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("the limits", () => {
  test("a message is cut at 8 KiB, a stack at 16 KiB, between code points", () => {
    const error = Object.assign(new Error("🦀".repeat(100_000)), {
      stack: "é".repeat(100_000),
      name: "N".repeat(1000),
      code: "C".repeat(1000),
    });
    const stored = toStoredError(error);
    checkLimits(stored);
    expect(stored.message).toMatch(/^(🦀)+…$/u);
    expect(Buffer.byteLength(stored.message)).toBeGreaterThan(8192 - 4);
    expect(stored.stack).toMatch(/^é+…$/);
    expect(Buffer.byteLength(stored.stack ?? "")).toBeGreaterThan(16_384 - 4);
  });

  test("a message that just fits is kept whole", () => {
    expect(toStoredError(new Error("a".repeat(8192))).message).toBe("a".repeat(8192));
    expect(toStoredError(new Error("a".repeat(8193))).message).toBe(`${"a".repeat(8189)}…`);
  });

  test("U+0000 and lone surrogates become U+FFFD", () => {
    const stored = toStoredError(Object.assign(new Error("a\0b\ud83ec\udd80🦀"), { code: "x\0", stack: "s\0" }));
    expect(stored).toEqual({ name: "Error", message: "a\ufffdb\ufffdc\ufffd🦀", code: "x\ufffd", stack: "s\ufffd" });
  });
});

function checkLimits(stored: StoredError): void {
  for (const error of [stored, ...(stored.causes ?? [])]) {
    expect(Buffer.byteLength(error.name)).toBeLessThanOrEqual(255);
    expect(Buffer.byteLength(error.message)).toBeLessThanOrEqual(8192);
    expect(Buffer.byteLength(error.stack ?? "")).toBeLessThanOrEqual(16_384);
    expect(Buffer.byteLength(String(error.code ?? ""))).toBeLessThanOrEqual(255);
    expect(JSON.stringify(error)).not.toMatch(/\\u0000|\\ud[89a-f]/);
  }
  expect(stored.causes?.length ?? 0).toBeLessThanOrEqual(5);
}
