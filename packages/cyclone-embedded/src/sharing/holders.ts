import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../server/is-alive.ts";

/**
 * Which guardians need the server of a kept folder: one file per process id. The last to leave stops the server, so
 * two programs can share one folder. All of these are called under the folder's lock.
 */
export function addHolder(folder: string, pid: number): void {
  mkdirSync(join(folder, "holders"), { recursive: true });
  writeFileSync(join(folder, "holders", String(pid)), "");
}

/** Takes one holder out, forgets those that died, and says how many are left. */
export function removeHolder(folder: string, pid: number): number {
  const holders = join(folder, "holders");
  rmSync(join(holders, String(pid)), { force: true });
  let left = 0;
  for (const name of listed(holders)) {
    if (isAlive(Number(name))) left++;
    else rmSync(join(holders, name), { force: true });
  }
  return left;
}

function listed(holders: string): string[] {
  try {
    return readdirSync(holders);
  } catch {
    return [];
  }
}
