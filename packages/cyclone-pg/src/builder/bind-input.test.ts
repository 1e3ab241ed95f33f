import { describe, expect, test } from "vitest";
import { bindInput } from "./bind-input.ts";

const bind = (template: string, ...references: unknown[]): unknown => bindInput(JSON.parse(template), references);

describe("binding an input", () => {
  test("puts the values where the futures stand, at any depth", () => {
    expect(
      bind('{"a":[{"b":{"$future":"x","ref":0}},{"$future":"y","path":["p"],"ref":1}],"c":1}', "X", { y: 1 }),
    ).toEqual({
      a: [{ b: "X" }, { y: 1 }],
      c: 1,
    });
    expect(bind('{"$future":"x","ref":0}', [1])).toEqual([1]);
  });

  test("puts one value into several places", () => {
    expect(bind('[{"$future":"x","ref":0},{"$future":"x","ref":0}]', 5)).toEqual([5, 5]);
  });

  test("leaves the property of an undefined value out, and keeps an element of an array", () => {
    const bound = bind(
      '{"gone":{"$future":"x","ref":0},"kept":{"$future":"y","ref":1},"list":[{"$future":"x","ref":0},1]}',
      undefined,
      null,
    );
    expect(bound).toStrictEqual({ kept: null, list: [undefined, 1] });
    expect(Object.keys(bound as object)).toEqual(["kept", "list"]);
    expect(bind('{"$future":"x","ref":0}', undefined)).toBeUndefined();
  });

  test("unwraps literals, whose own `$future` and `$literal` are data", () => {
    expect(
      bind('[{"$literal":{"$future":"data","ref":0}},{"$literal":{"$literal":{"a":{"$future":"x","ref":0}}}}]', "X"),
    ).toEqual([{ $future: "data", ref: 0 }, { $literal: { a: "X" } }]);
  });

  test("leaves an input without references as it is, whatever its keys are", () => {
    expect(bind('{"$future":"data","ref":0,"$literal":{}}')).toEqual({ $future: "data", ref: 0, $literal: {} });
    expect(bindInput(undefined, [])).toBeUndefined();
  });

  test("doesn't look for futures in the values themselves", () => {
    const output = { $future: "not mine", ref: 1 };
    expect(bind('{"a":{"$future":"x","ref":0}}', output, "other")).toEqual({ a: output });
  });

  test("keeps keys such as __proto__ as plain data", () => {
    const bound = bind('{"__proto__":{"$future":"x","ref":0},"constructor":{"$future":"x","ref":0}}', {
      polluted: true,
    }) as object;
    expect(Object.keys(bound)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(bound)).toBe(Object.prototype);
    expect(JSON.stringify(bound)).toBe('{"__proto__":{"polluted":true},"constructor":{"polluted":true}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
