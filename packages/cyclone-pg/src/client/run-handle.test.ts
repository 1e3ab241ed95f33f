import { describe, expect, test } from "vitest";
import { createClient } from "./client.ts";

// Nothing is connected to: what is wrong with a call is found before.
const run = createClient({ connection: "postgres://nobody@127.0.0.1:1/none" }).run(
  "01890000-0000-7000-8000-000000000000",
);

describe.each(["result", "wait"] as const)("%s()", (method) => {
  test.each([
    [{ sigal: AbortSignal.abort() }, `Unknown option "sigal" of ${method}: did you mean "signal"?`],
    [{ timeout: "5s" }, `Unknown option "timeout" of ${method}: it takes signal`],
    ["5s", `The options of ${method} must be an object.`],
    [null, `The options of ${method} must be an object.`],
    [AbortSignal.abort(), `write ${method}({ signal })`],
    [{ signal: new AbortController() }, `signal of ${method} must be an AbortSignal`],
    [{ signal: null }, `signal of ${method} must be an AbortSignal`],
  ])("refuses %o", async (control, message) => {
    const refused = run[method](control as never);
    await expect(refused).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  });

  test("takes a signal, whose reason comes as it is", async () => {
    const reason = Object.assign(new Error("enough"), { code: "ECONNREFUSED" });
    await expect(run[method]({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
