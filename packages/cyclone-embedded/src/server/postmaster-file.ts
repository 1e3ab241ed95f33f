import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What a running server writes into `postmaster.pid`; the manual describes the lines under "Database File Layout". */
export interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  /** "starting", "stopping", "ready" or "standby". */
  readonly status: string;
}

/** The server's own record in a data folder, or `undefined` where there is none or it is half written. */
export function readPostmasterFile(pgdata: string): PostmasterFile | undefined {
  let lines: string[];
  try {
    lines = readFileSync(join(pgdata, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return undefined;
  }
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number.isInteger(port) ? port : 0, status: (lines[7] ?? "").trim() };
}
