import { chmodSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder for one test, removed after it; others may look into it unless `mode` says otherwise. */
export function temporaryFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "cyclone embedded test "));
  chmodSync(folder, mode);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}
