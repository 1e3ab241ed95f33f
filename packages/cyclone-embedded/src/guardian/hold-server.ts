import { findBinaries } from "../binaries/find-binaries.ts";
import { type Binaries, usableBinaries } from "../binaries/usable-binaries.ts";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { createCluster, hasCluster } from "../server/create-cluster.ts";
import { launchServer } from "../server/launch-server.ts";
import { runningServer } from "../server/running-server.ts";
import type { ServerHome } from "../server/server-home.ts";
import { stopServer } from "../server/stop-server.ts";
import { withDataLock } from "../sharing/data-lock.ts";
import { addHolder, removeHolder } from "../sharing/holders.ts";
import type { GuardianOrder } from "./guardian-messages.ts";

export interface RunningServer {
  readonly port: number;
  /** The data were there before. */
  readonly kept: boolean;
  readonly native: string;
}

/** Brings the ordered server up in its home, or joins the one that runs there already. */
export async function holdServer(
  home: ServerHome,
  order: GuardianOrder,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<RunningServer> {
  const binaries = usableBinaries(findBinaries(), home.user, home.folder);
  const bringUp = async (): Promise<RunningServer> => {
    const kept = hasCluster(home, binaries.version);
    const port = (kept ? await join(home, binaries, order, progress, signal) : undefined) ?? (await start(kept));
    return { port, kept, native: binaries.native };
  };
  const start = async (kept: boolean): Promise<number> => {
    if (!kept) {
      progress("creating a database cluster");
      await createCluster(home, binaries, order.durable, signal);
    }
    progress(`starting Postgres ${binaries.version}`);
    return launchServer(home, binaries, order, signal);
  };
  if (home.temporary) return bringUp();
  return withDataLock(home.folder, signal, async () => {
    const running = await bringUp();
    addHolder(home.folder, process.pid);
    return running;
  });
}

/** @returns the port of the server that still runs there, or `undefined` where one has to be started */
async function join(
  home: ServerHome,
  binaries: Binaries,
  order: GuardianOrder,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<number | undefined> {
  const port = await runningServer(home, signal);
  if (port === undefined) return undefined;
  if (order.port === null || order.port === port) {
    progress(`joining the Postgres that still runs on port ${port}`);
    return port;
  }
  if (removeHolder(home.folder, process.pid) > 0) {
    throw new EmbeddedPostgresError(
      `Another program uses the data in ${home.folder} through port ${port}, so port ${order.port} can't be had. ` +
        "Leave the port out, or stop the other program.",
    );
  }
  progress(`stopping the Postgres that still runs on port ${port}`);
  await stopServer(home, binaries.native);
  return undefined;
}
