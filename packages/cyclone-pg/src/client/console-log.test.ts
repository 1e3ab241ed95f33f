import { afterEach, expect, test, vi } from "vitest";
import { toStoredError } from "../model/stored-error.ts";
import { consoleLog } from "./console-log.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("warnings and errors are printed whole, with the causes of errors, and nothing else is", () => {
  const printed = vi.spyOn(console, "warn").mockImplementation(() => {});
  const errors = vi.spyOn(console, "error").mockImplementation(() => {});
  const error = toStoredError(new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND x") }));
  consoleLog.warn("100%s sure", { runId: "r", error });
  consoleLog.error("alone");
  consoleLog.info("unheard");
  consoleLog.debug("unheard");
  const [[text, ...rest] = []] = printed.mock.calls;
  expect(text).toMatch(/^cyclone: 100%s sure \{/);
  expect(text).toContain("getaddrinfo ENOTFOUND x");
  expect(text).not.toContain("[Object]");
  expect(rest).toEqual([]);
  expect(errors.mock.calls).toEqual([["cyclone: alone"]]);
});
