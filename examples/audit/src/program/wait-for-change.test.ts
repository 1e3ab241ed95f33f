import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { PackageFolder } from "../../test/support/package-folder.ts";
import { installationMark, waitForChange } from "./wait-for-change.ts";
import { waitForEnter } from "./wait-for-enter.ts";

describe("waitForChange", () => {
  test("waits until packages were installed", async () => {
    using folder = new PackageFolder();
    const mark = installationMark(folder.path);
    let changed = false;
    const waiting = waitForChange(folder.path, mark, new AbortController().signal, 5).then(() => {
      changed = true;
    });
    folder.file("package.json", "{}");
    expect(installationMark(folder.path)).toBe(mark);
    expect(changed).toBe(false);
    folder.package("node_modules/a");
    await waiting;
  });

  test("ends when it is stopped", async () => {
    using folder = new PackageFolder();
    const stop = new AbortController();
    const waiting = waitForChange(folder.path, installationMark(folder.path), stop.signal, 5);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});

class FakeKeyboard extends EventEmitter {
  resume(): void {}
  pause(): void {}
}

describe("waitForEnter", () => {
  test("waits for a whole line, and leaves no listener", async () => {
    const keyboard = new FakeKeyboard();
    const waiting = waitForEnter(keyboard, new AbortController().signal);
    keyboard.emit("data", "again");
    keyboard.emit("data", Buffer.from("\n"));
    await waiting;
    expect(keyboard.listenerCount("data")).toBe(0);
  });

  test("ends when it is stopped", async () => {
    const keyboard = new FakeKeyboard();
    const stop = new AbortController();
    const waiting = waitForEnter(keyboard, stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(keyboard.listenerCount("data")).toBe(0);
  });
});
