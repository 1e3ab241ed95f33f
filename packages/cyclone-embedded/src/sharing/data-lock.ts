import { linkSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "../server/is-alive.ts";

const POLL_MS = 25;

/**
 * Runs `work` while no other process starts or stops the server of the same folder. The lock is a file with its
 * owner's process id; one whose owner has died is taken over.
 */
export async function withDataLock<T>(folder: string, signal: AbortSignal | null, work: () => Promise<T>): Promise<T> {
  const lock = join(folder, "lock");
  while (!tryLock(folder, lock)) {
    signal?.throwIfAborted();
    removeIfAbandoned(folder, lock);
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** A hard link appears with its content in one step; a file that is created and then written doesn't. */
function tryLock(folder: string, lock: string): boolean {
  const scratch = mkdtempSync(join(folder, ".lock-"));
  const mine = join(scratch, "lock");
  try {
    writeFileSync(mine, String(process.pid));
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function removeIfAbandoned(folder: string, lock: string): void {
  if (ownerIsAlive(lock)) return;
  // Moved first and then looked at: between the two looks another process may have taken the lock over properly.
  const moved = join(folder, `.lock-abandoned-${process.pid}`);
  try {
    renameSync(lock, moved);
    if (ownerIsAlive(moved)) linkSync(moved, lock);
  } catch {
    // Somebody else was faster.
  }
  rmSync(moved, { force: true });
}

function ownerIsAlive(lock: string): boolean {
  try {
    return isAlive(Number(readFileSync(lock, "utf8")));
  } catch {
    return false;
  }
}
