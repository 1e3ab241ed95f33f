import { rmSync } from "node:fs";
import { stopServer } from "../server/stop-server.ts";
import { withDataLock } from "../sharing/data-lock.ts";
import { removeHolder } from "../sharing/holders.ts";
import type { HeldServer } from "./guardian-messages.ts";

/** Gives a server back: a temporary one goes with its folder; a kept one stops unless another program holds it too. */
export async function releaseServer({ home, native, guardianPid }: HeldServer): Promise<void> {
  if (home.temporary) {
    try {
      await stopServer(home, native);
    } finally {
      // Retried, for a server process that is just ending may still write.
      rmSync(home.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
    return;
  }
  await withDataLock(home.folder, null, async () => {
    if (removeHolder(home.folder, guardianPid) === 0) await stopServer(home, native);
  });
}
