import { Guardian } from "./guardian/guardian.ts";
import { resolveOrder } from "./resolve-order.ts";

/** Options of {@link startEmbeddedPostgres}. */
export interface EmbeddedPostgresOptions {
  /**
   * Where the data are kept. A folder that was used before is used again, and a server that still runs there is joined
   * (with the settings that it was started with). Without it the data are temporary: they go when the server stops or
   * when this process ends, however it ends.
   */
  dataDir?: string;
  /** The TCP port on 127.0.0.1. @default any free port */
  port?: number;
  /** False: fsync is off, which is faster, and a crash of the machine may destroy the data. @default true iff `dataDir` is given */
  durable?: boolean;
  /** Settings of the server, as in postgresql.conf: `{ max_connections: "200" }`. */
  settings?: Record<string, string>;
  /** Is told what happens while the server comes up. */
  onProgress?: (message: string) => void;
}

/** A running Postgres server. */
export interface EmbeddedPostgres {
  /** For any client: the superuser `postgres`, its database, no password, reachable from this machine only. */
  readonly url: string;
  /** The TCP port that it listens on, at 127.0.0.1. */
  readonly port: number;
  /** The folder that holds the data. */
  readonly dataDir: string;
  /** True if the data were there before. */
  readonly kept: boolean;
  /** The server's log; of temporary data it goes with them. */
  readonly logFile: string;
  /**
   * Stops the server, unless another program holds the same kept data, and removes temporary data.
   * Calling it again does nothing more.
   */
  stop(): Promise<void>;
  /** The same as `stop()`: for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a real Postgres from the platform's npm package. It doesn't keep this process alive, and doesn't outlive it.
 *
 * @throws EmbeddedPostgresError with the end of the server's log, where there are no binaries or it can't start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const order = resolveOrder(options);
  const guardian = new Guardian(order, options.onProgress ?? (() => {}));
  const ready = await guardian.ready;
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= guardian.release();
    return stopping;
  };
  return {
    url: `postgres://postgres@127.0.0.1:${ready.port}/postgres`,
    port: ready.port,
    dataDir: ready.held.home.folder,
    kept: ready.kept,
    logFile: ready.held.home.logFile,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
