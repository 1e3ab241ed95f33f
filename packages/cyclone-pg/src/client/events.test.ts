import { describe, expect, test } from "vitest";
import { type EventName, Events } from "./events.ts";

const events = new Events(() => undefined);
const listen = (event: unknown, listener: unknown = () => undefined) =>
  events.on(event as EventName, listener as () => void);

describe("an event that there isn't", () => {
  test.each([
    ["run.complete", "run.completed"],
    ["step.complete", "step.completed"],
    ["step.faild", "step.failed"],
    ["lease-lost", "lease.lost"],
    ["Error", "error"],
  ])("such as %s gets the suggestion %s", (event, meant) => {
    const message = `There is no event "${event}": did you mean "${meant}"?`;
    expect(() => listen(event)).toThrow(
      expect.objectContaining({ code: "CYCLONE_INVALID_OPTION", option: "event", message }),
    );
  });

  test.each(["something else", "toString", undefined, null, Symbol("x")])("such as %o gets the list", (event) => {
    expect(() => listen(event)).toThrow(/there are run\.submitted, .*error$/);
  });

  test("is no reason to refuse those that there are", () => {
    expect(listen("run.completed")).toBeTypeOf("function");
  });
});

test("a listener that is no function is refused", () => {
  expect(() => listen("error", "log")).toThrow(expect.objectContaining({ option: "listener" }));
});
