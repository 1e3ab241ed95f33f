import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import {
  type Armed,
  type ArmOptions,
  type ConnectionInfo,
  type CrashPoint,
  CrashTrigger,
} from "./crash-proxy/crash-trigger.ts";
import { type ConnectionFilter, type NetworkFaults, NetworkGate } from "./crash-proxy/network-faults.ts";
import { ProxiedConnection, type ProxiedConnectionHost } from "./crash-proxy/proxied-connection.ts";

export type { Armed, ArmOptions, ConnectionInfo, CrashPoint, CrashSide } from "./crash-proxy/crash-trigger.ts";
export type { ConnectionFilter } from "./crash-proxy/network-faults.ts";

/** Between a Postgres client and its server: counts sync points, and breaks the connection where it is told to. */
export interface CrashProxy extends AsyncDisposable {
  /** The target's URL by way of the proxy. */
  readonly url: string;
  /** The points counted since the last `arm`. */
  readonly points: readonly CrashPoint[];
  /** The connections that are open. */
  readonly connections: readonly ConnectionInfo[];
  /** Faults that last, and are independent of points. */
  readonly network: NetworkFaults & {
    /** Resets both ends of the open connections. */
    reset(where?: ConnectionFilter): void;
    /** Ends the stream toward one side of the open connections; the other direction goes on. */
    halfClose(toward: "client" | "server", where?: ConnectionFilter): void;
    /** Closes the server's ends of the open connections without telling the clients. */
    halfOpen(where?: ConnectionFilter): Promise<void>;
  };
  /** Starts counting from 1, to act at `point`. Replaces what was armed before. */
  arm(options?: ArmOptions): Armed;
  /** Counts no more, lets held connections go on, and accepts new ones. */
  disarm(): void;
  /** Resolves when no connection is open. @throws after `timeoutMs` */
  quiet(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a proxy on a free port of 127.0.0.1. A sync point is a Query, a Sync, or the end of a COPY's data: what the server
 * answers with ReadyForQuery. TLS is declined, since what is encrypted can't be counted.
 *
 * @param options.target a `postgres://` URL with a TCP host
 */
export async function startCrashProxy(options: { readonly target: string }): Promise<CrashProxy> {
  const proxy = new RunningCrashProxy(new URL(options.target));
  await proxy.listen();
  return proxy;
}

class RunningCrashProxy implements CrashProxy, ProxiedConnectionHost {
  readonly target: { readonly host: string; readonly port: number };
  readonly network: NetworkGate & CrashProxy["network"];
  trigger = new CrashTrigger({});
  readonly #targetUrl: URL;
  readonly #server: Server;
  readonly #open = new Set<ProxiedConnection>();
  #ids = 0;
  #refuseUntil = 0;

  constructor(target: URL) {
    this.#targetUrl = target;
    const host = decodeURIComponent(target.hostname).replace(/^\[|\]$/g, "");
    if (host === "") throw new Error("the crash proxy needs a target with a TCP host");
    this.target = { host, port: Number(target.port || 5432) };
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
    const some = (where: ConnectionFilter | undefined): ProxiedConnection[] =>
      [...this.#open].filter((connection) => where?.(connection.info) !== false);
    this.network = Object.assign(new NetworkGate(), {
      reset: (where?: ConnectionFilter) => some(where).forEach((connection) => connection.reset()),
      halfClose: (toward: "client" | "server", where?: ConnectionFilter) =>
        some(where).forEach((connection) => connection.halfClose(toward)),
      halfOpen: async (where?: ConnectionFilter) => {
        await Promise.all(some(where).map((connection) => connection.halfOpen()));
      },
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    const url = new URL(this.#targetUrl);
    url.hostname = "127.0.0.1";
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  get points(): readonly CrashPoint[] {
    return this.trigger.points;
  }

  get connections(): readonly ConnectionInfo[] {
    return [...this.#open].map((connection) => connection.info);
  }

  arm(options: ArmOptions = {}): Armed {
    this.disarm();
    this.trigger = new CrashTrigger(options);
    return this.trigger;
  }

  disarm(): void {
    this.trigger.disarmed = true;
    this.trigger.release();
    this.#refuseUntil = 0;
  }

  fire(trigger: CrashTrigger, point: CrashPoint, connection: ProxiedConnection): void {
    const { kill, scope, refuseForMs = 0 } = trigger.options;
    this.#refuseUntil = performance.now() + refuseForMs;
    if (kill !== undefined) {
      const pid = kill();
      if (pid !== undefined) process.kill(pid, "SIGKILL");
      trigger.fire(point, connection.severAfterClient());
      return;
    }
    const hit = scope === "all" ? [...this.#open] : [connection];
    trigger.fire(point, Promise.all(hit.map((one) => one.sever())));
  }

  async quiet(timeoutMs = 5_000): Promise<void> {
    const late = wait(timeoutMs, "late" as const, { ref: false });
    while (this.#open.size > 0) {
      const first = await Promise.race([late, ...[...this.#open].map((connection) => connection.closed)]);
      if (first === "late") throw new Error(`${this.#open.size} connections are still open after ${timeoutMs} ms`);
    }
  }

  async close(): Promise<void> {
    this.disarm();
    this.network.heal();
    this.#server.close();
    const open = [...this.#open];
    await Promise.all(open.map((connection) => connection.sever()));
    await Promise.all(open.map((connection) => connection.closed));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(client: Socket): void {
    if (this.network.refusing || performance.now() < this.#refuseUntil) {
      client.on("error", () => {});
      client.resetAndDestroy();
      return;
    }
    const connection = new ProxiedConnection(this, client, ++this.#ids);
    this.#open.add(connection);
    void connection.closed.then(() => this.#open.delete(connection));
  }
}
