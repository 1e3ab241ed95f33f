import type { Logger } from "../../src/index.ts";

/** A logger that keeps nothing. */
export const quietLog: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
