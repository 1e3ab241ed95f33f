import { readFileSync } from "node:fs";

/**
 * True if a process with this id runs, whoever it belongs to. One that has ended but whose parent never asked for its
 * status (a container's first process often doesn't) still has its id, and counts as ended.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return !hasEnded(pid);
}

function hasEnded(pid: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return /^\) [ZX]/.test(stat.slice(stat.lastIndexOf(")")));
  } catch {
    return false;
  }
}
