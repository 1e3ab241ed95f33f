import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidPayloadError } from "../errors/invalid-payload-error.ts";
import { PAYLOAD_DEPTH_MAX } from "./json-writer.ts";
import { encodePayload } from "./payload.ts";

const MAX = 1_048_576;
const encode = (value: unknown, maxBytes = MAX) => encodePayload(value, 'the output of node "n"', maxBytes);
const refusal = (value: unknown, maxBytes = MAX): InvalidPayloadError => {
  try {
    encode(value, maxBytes);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(InvalidPayloadError);
    return thrown as InvalidPayloadError;
  }
  throw new Error("it was stored");
};
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};

describe("what JSON holds is stored as it is", () => {
  test.each([
    [],
    [1, "a", null],
    [[1]],
    "text",
    "",
    "null",
    "{}",
    "5",
    0,
    false,
    true,
    null,
    {},
    -1.5,
    1e308,
    5e-324,
    2 ** 53 + 2,
  ])("%j", (value) => {
    expect(encode(value)).toBe(JSON.stringify(value));
  });

  test("undefined is no payload at all, which isn't JSON null", () => {
    expect(encode(undefined)).toBeNull();
    expect(encode(null)).toBe("null");
  });

  test("properties that are undefined are left out", () => {
    expect(encode({ a: undefined, b: 1, c: undefined, d: { e: undefined } })).toBe('{"b":1,"d":{}}');
  });

  test("-0 becomes 0", () => {
    expect(encode([-0])).toBe("[0]");
  });

  test("odd keys survive, __proto__ too", () => {
    const text = '{"__proto__":{"a":1},"constructor":2,"":3,"a b":4,"toJSON":5,"ключ":6,"\\"":7,"\\n":8,"🦀":9}';
    expect(encode(JSON.parse(text))).toBe(text);
    expect(encode(Object.assign(Object.create(null), { x: 1 }))).toBe('{"x":1}');
  });

  test("text with quotes, control characters and every plane comes back", () => {
    const text = '"\\\b\f\n\r\t\u0001\u001f\u007f\u2028\u2029🦀é漢/';
    expect(JSON.parse(encode(text) ?? "")).toBe(text);
  });

  test("one object may stand in several places", () => {
    const shared = { a: [1] };
    expect(encode([shared, { shared }])).toBe('[{"a":[1]},{"shared":{"a":[1]}}]');
  });

  test("plain data of another realm is plain data", () => {
    expect(encode(runInNewContext('({ a: [1, { b: "x" }] })'))).toBe('{"a":[1,{"b":"x"}]}');
    expect(refusal(runInNewContext("new (class Object {})()")).message).toContain("an instance of Object");
    expect(refusal(runInNewContext("new Date(0)")).message).toContain("a Date");
  });

  test("a Proxy of plain data, and properties with getters, are read once", () => {
    let reads = 0;
    const value = {
      get n() {
        reads += 1;
        return reads;
      },
    };
    expect(encode(new Proxy(value, {}))).toBe('{"n":1}');
  });

  test("any JSON value comes back deep-equal", () => {
    const key = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("__proto__", "constructor", "toString", "$future", "$literal", "0", "length"),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        fc.string({ unit: "binary" }),
        fc.double({ noDefaultInfinity: true, noNaN: true }).map((n) => n + 0),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value")),
        fc
          .array(fc.tuple(key, tie("value")))
          .map(
            (entries) =>
              JSON.parse(
                `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(",")}}`,
              ) as unknown,
          ),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        const plain = JSON.stringify(given);
        fc.pre(!plain.includes("\\u0000"));
        const stored = encode(given) ?? "";
        expect(stored).toBe(plain);
        // vitest's own comparison reads `constructor`, which is data here.
        expect(isDeepStrictEqual(JSON.parse(stored), given)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("what JSON can't hold is refused, with its path", () => {
  class Point {
    x = 1;
  }
  class List extends Array<number> {}
  const withSymbolKey = { a: { [Symbol("hidden")]: 1 } };
  // oxlint-disable-next-line no-sparse-arrays -- the hole is the point
  const sparse = [1, , 3];
  test.each([
    ["a Date", { a: [{ b: new Date(0) }] }, "$.a[0].b", "is a Date: pass date.toISOString()"],
    ["a Map", [new Map()], "$[0]", "is a Map"],
    ["a Set", { s: new Set() }, "$.s", "is a Set"],
    ["a class instance", { p: new Point() }, "$.p", "an instance of Point: pass a plain object"],
    [
      "an instance of a nameless class",
      new (class {
        readonly x = 1;
      })(),
      "$",
      "an instance of a class without a name",
    ],
    ["an array's subclass", { l: List.of(1) }, "$.l", "an instance of List: pass [...list]"],
    ["an Error", { e: new TypeError("x") }, "$.e", "is an Error"],
    ["a RegExp", { r: /x/ }, "$.r", "an instance of RegExp"],
    ["a boxed text", { s: Object("x") as unknown }, "$.s", "an instance of String"],
    ["binary data", { raw: new Uint8Array(1) }, "$.raw", "is binary data"],
    ["a Buffer", Buffer.from("x"), "$", "is binary data"],
    ["a Promise", { later: Promise.resolve(1) }, "$.later", "is a Promise: await it first"],
    [
      "a thenable of a class",
      new (class {
        // oxlint-disable-next-line unicorn/no-thenable -- it must be recognised
        then() {}
      })(),
      "$",
      "is a Promise",
    ],
    ["a bigint", { n: 1n }, "$.n", "is a bigint"],
    ["a function", { f() {} }, "$.f", "is a function"],
    ["a toJSON of its own", { toJSON: (): number => 1 }, "$.toJSON", "is a function"],
    ["a symbol", [Symbol("x")], "$[0]", "is a symbol"],
    ["a symbol as a key", withSymbolKey, "$.a", "has a symbol as a key: Symbol(hidden)"],
    ["NaN", { n: [Number.NaN] }, "$.n[0]", "is NaN"],
    ["Infinity", { n: -Infinity }, "$.n", "is -Infinity"],
    ["U+0000", { a: "x\0y" }, "$.a", "has U+0000"],
    ["U+0000 in a key", { a: { "x\0y": 1 } }, '$.a["x\\u0000y"]', "has U+0000"],
    ["half a surrogate pair", ["\ud83e"], "$[0]", "half a surrogate pair"],
    ["half a surrogate pair in a key", { "\udd80": 1 }, '$["\\udd80"]', "half a surrogate pair"],
    ["undefined in an array", { list: [1, undefined] }, "$.list[1]", "is undefined"],
    ["a hole in an array", sparse, "$[1]", "is undefined"],
  ] as const)("%s", (_what, value, path, reason) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.message).toMatch(/^Can't store the output of node "n": \$/);
    expect(error.message).toContain(reason);
  });

  test("a cycle, at the place where it closes", () => {
    const a: Record<string, unknown> = { list: [] };
    (a["list"] as unknown[]).push({ back: a });
    expect(refusal(a)).toMatchObject({
      path: "$.list[0].back",
      message: expect.stringContaining("contains itself") as string,
    });
  });

  test("more than 500 levels", () => {
    expect(JSON.parse(encode(nested(PAYLOAD_DEPTH_MAX)) ?? "")).toEqual(nested(PAYLOAD_DEPTH_MAX));
    expect(refusal(nested(PAYLOAD_DEPTH_MAX + 1)).message).toContain("nested deeper than 500");
    expect(refusal(nested(100_000)).message).toContain("nested deeper than 500");
  });

  test("prototypes with a toJSON don't change what is stored", () => {
    const prototypes = [Object.prototype, Array.prototype, String.prototype] as unknown as Record<string, unknown>[];
    for (const prototype of prototypes) {
      Object.defineProperty(prototype, "toJSON", { value: () => "changed", configurable: true });
    }
    try {
      expect(encode({ a: ["x"] })).toBe('{"a":["x"]}');
    } finally {
      for (const prototype of prototypes) delete prototype["toJSON"];
    }
  });
});

describe("a value that resists being read", () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  test.each([
    [
      "a getter that throws",
      {
        a: {
          get b() {
            return boom();
          },
        },
      },
      "$.a.b",
    ],
    ["a Proxy that throws at its keys", { a: new Proxy({}, { ownKeys: boom }) }, "$.a"],
    ["a Proxy that throws at a property", { a: [new Proxy({ x: 1 }, { get: boom })] }, "$.a[0].x"],
    ["a Proxy that throws at its prototype", { a: new Proxy({}, { getPrototypeOf: boom }) }, "$.a"],
    ["a Proxy that throws in everything", new Proxy({}, new Proxy({}, { get: boom })), "$"],
    ["a revoked Proxy", { a: revoked.proxy }, "$.a"],
    [
      "a prototype whose constructor throws",
      {
        a: Object.create({
          get constructor() {
            return boom();
          },
        }) as unknown,
      },
      "$.a",
    ],
    ["a Proxy that says it is a future", new Proxy(new Date(0), { has: () => true }), "$"],
  ])("is refused: %s", (_what, value, path) => {
    // Nothing but the error's type and path is promised here.
    expect(refusal(value).path.startsWith(path)).toBe(true);
  });

  test("keeps what was thrown as the cause", () => {
    expect(
      refusal({
        get a() {
          return boom();
        },
      }).cause,
    ).toEqual(new Error("boom"));
  });

  test("can't slip through by answering differently the second time", () => {
    let reads = 0;
    const value = {
      get a() {
        reads += 1;
        return reads === 1 ? 1 : new Date(0);
      },
    };
    expect(encode(value)).toBe('{"a":1}');
  });
});

describe("the limit of size", () => {
  test("counts the bytes of the JSON text", () => {
    expect(encode("é".repeat(10), 22)).toBe(`"${"é".repeat(10)}"`);
    expect(refusal("é".repeat(10), 21).message).toContain("it has 22 bytes, and the limit (maxPayloadBytes) is 21");
    expect(encode('"', 4)).toBe('"\\""');
    expect(() => encode('"', 3)).toThrow(InvalidPayloadError);
  });

  test("is met also by what would be too long to write", () => {
    let value: unknown[] = ["x".repeat(1000)];
    for (let i = 0; i < 40; i++) value = [value, value]; // a petabyte, in 40 small arrays
    expect(refusal(value).message).toContain("maxPayloadBytes is 1048576");
  });
});
