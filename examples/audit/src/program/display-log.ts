import type { Logger } from "cyclone-pg";
import type { Display } from "./display.ts";

/** What the library has to say, as lines of the display, so that they don't get in the way of the progress line. */
export function displayLog(display: Display): Logger {
  const note = (message: string, fields?: Readonly<Record<string, unknown>>) => {
    const details = Object.entries(fields ?? {}).map(([name, value]) => `${name} ${String(value)}`);
    display.note(`cyclone: ${[message, ...details].join(" · ")}`);
  };
  return { debug: () => {}, info: () => {}, warn: note, error: note };
}
