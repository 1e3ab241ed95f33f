import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What installing, updating or removing packages writes: the package managers' own records and the folder itself. */
const RECORDS = [
  "node_modules/.package-lock.json",
  "node_modules/.modules.yaml",
  "node_modules/.yarn-integrity",
  "node_modules/.yarn-state.yml",
  "node_modules",
];
const LOOK_INTERVAL_MS = 1_000;

/** The state of a folder's installation as one text: another text means that packages were installed or removed. */
export function installationMark(folder: string): string {
  return RECORDS.map((record) => {
    const stats = statSync(join(folder, record), { throwIfNoEntry: false });
    return stats === undefined ? "-" : `${stats.mtimeMs}/${stats.ino}`;
  }).join(" ");
}

/**
 * Resolves when the installation differs from `mark` and has stood still for two looks, for an installation takes its time.
 *
 * @throws the signal's reason when it fires
 */
export async function waitForChange(
  folder: string,
  mark: string,
  signal: AbortSignal,
  lookIntervalMs = LOOK_INTERVAL_MS,
): Promise<void> {
  let before = mark;
  for (;;) {
    await delay(lookIntervalMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const now = installationMark(folder);
    if (now !== mark && now === before) return;
    before = now;
  }
}
