import { describe, expect, test } from "vitest";
import { z } from "zod";
import { InvalidPayloadError } from "../errors/invalid-payload-error.ts";
import { checkSchema, type Schema, validate } from "./schema.ts";

const standard = (validateValue: (value: unknown) => unknown): Schema => ({
  "~standard": { version: 1, vendor: "test", validate: validateValue },
});

describe("validating", () => {
  test("gives what the schema gives back", () => {
    expect(validate(z.object({ n: z.number().default(1) }), {}, "x")).toEqual({ n: 1 });
  });

  test("throws with the paths and messages of what the schema refuses", () => {
    const schema = z.object({ items: z.array(z.object({ "odd key": z.number() })) });
    const attempt = () => validate(schema, { items: [{ "odd key": 1 }, { "odd key": "2" }] }, 'the input of step "s"');
    expect(attempt).toThrow(InvalidPayloadError);
    expect(attempt).toThrow(/^The schema refuses the input of step "s": \$\.items\[1\]\["odd key"\]: /);
    expect(attempt).toThrow(
      expect.objectContaining({
        path: '$.items[1]["odd key"]',
        issues: [expect.objectContaining({ path: '$.items[1]["odd key"]' })],
      }),
    );
  });

  test("understands path segments that are objects, and issues without a path", () => {
    const schema = standard(() => ({ issues: [{ message: "bad", path: [{ key: "a" }, 0] }, { message: "worse" }] }));
    expect(() => validate(schema, 1, "x")).toThrow("The schema refuses x: $.a[0]: bad; $: worse");
  });

  test("lists 20 complaints at most, and says how many more there are", () => {
    const schema = standard(() => ({ issues: Array.from({ length: 30 }, (_, i) => ({ message: `m${i}` })) }));
    expect(() => validate(schema, 1, "x")).toThrow(/m19; and 10 more$/);
  });

  test("waits for a schema that validates asynchronously, and only then", async () => {
    const late = standard(async (value) => (value === 1 ? { value: "one" } : { issues: [{ message: "no" }] }));
    await expect(validate(late, 1, "x")).resolves.toBe("one");
    await expect(validate(late, 2, "x")).rejects.toThrow(InvalidPayloadError);
    expect(
      validate(
        standard((value) => ({ value })),
        1,
        "x",
      ),
    ).toBe(1);
  });

  test("lets an error of the schema itself through", () => {
    const broken = standard(() => {
      throw new RangeError("broken");
    });
    expect(() => validate(broken, 1, "x")).toThrow(RangeError);
  });
});

describe("a schema", () => {
  test("may be an object or a function", () => {
    const object = standard(() => ({ value: 1 }));
    const callable = Object.assign(() => undefined, object);
    expect(checkSchema(object, "input", "x")).toBe(object);
    expect(checkSchema(callable, "input", "x")).toBe(callable);
  });

  test.each([
    null,
    5,
    "s",
    {},
    () => 1,
    { "~standard": { version: 2, validate() {} } },
    { "~standard": { version: 1 } },
  ])("can't be %s", (value) => {
    expect(() => checkSchema(value, "output", 'step "x"')).toThrow(/^output of step "x" isn't a Standard Schema/);
  });
});
