import { inspect } from "node:util";
import type { Logger } from "../model/logger.ts";

/** Deep enough for an error's causes, which lie in a list of the error's fields. */
const DEPTH = 6;

/** Warnings and errors on the console. */
export const consoleLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, fields) => console.warn(line(message, fields)),
  error: (message, fields) => console.error(line(message, fields)),
};

/** One text: as a format with arguments, a `%` of the message would swallow the fields. */
function line(message: string, fields: unknown): string {
  const start = `cyclone: ${message}`;
  return fields === undefined ? start : `${start} ${inspect(fields, { depth: DEPTH, colors: process.stderr.isTTY })}`;
}
