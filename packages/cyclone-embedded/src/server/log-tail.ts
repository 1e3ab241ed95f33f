import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const TAIL_BYTES = 4096;
const TAIL_LINES = 25;

/** The last lines of a log, at most 4 KiB; empty where it can't be read. */
export function logTail(file: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return "";
  }
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
  } finally {
    closeSync(descriptor);
  }
}
