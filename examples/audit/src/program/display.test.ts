import { describe, expect, test } from "vitest";
import { Display } from "./display.ts";

class Recorder {
  text = "";
  nowMs = 0;
  readonly isTTY: boolean;
  readonly columns = 60;

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text;
  }
}

function displayOn(recorder: Recorder): Display {
  return new Display(recorder, () => recorder.nowMs);
}

describe("Display", () => {
  test("prints a line for each tenth where there is no terminal", () => {
    const recorder = new Recorder(false);
    const display = displayOn(recorder);
    for (let done = 0; done <= 100; done += 2) display.progress(done, 100);
    const lines = recorder.text.trim().split("\n");
    expect(lines).toHaveLength(11);
    expect(lines[0]).toBe("0 of 100 packages done (0 %)");
    expect(lines[10]).toBe("  100 of 100 packages done (100 %)");
  });

  test("prints a line a second in between, and one in five seconds when nothing moves", () => {
    const recorder = new Recorder(false);
    const display = displayOn(recorder);
    display.progress(0, 1000);
    recorder.nowMs = 999;
    display.progress(1, 1000);
    recorder.nowMs = 1000;
    display.progress(2, 1000);
    recorder.nowMs = 5999;
    display.progress(2, 1000);
    recorder.nowMs = 6000;
    display.progress(2, 1000);
    expect(recorder.text.match(/\d+(?= of)/g)).toEqual(["0", "2", "2"]);
  });

  test("draws one line anew on a terminal, and takes it away before other lines", () => {
    const recorder = new Recorder(true);
    const display = displayOn(recorder);
    display.progress(1, 2);
    display.note("something happened");
    display.progress(2, 2);
    display.endProgress();
    const erase = "\r\u001B[2K";
    expect(recorder.text.split(erase)).toEqual([
      "",
      "  ████████████░░░░░░░░░░░░ 1 of 2 packages done (50 %)",
      "  something happened\n",
      "  ████████████████████████ 2 of 2 packages done (100 %)",
      "",
    ]);
  });

  test("shows an empty total as all done", () => {
    const recorder = new Recorder(false);
    displayOn(recorder).progress(0, 0);
    expect(recorder.text).toBe("  0 of 0 packages done (100 %)\n");
  });
});
