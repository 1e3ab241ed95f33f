import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { ConnectionInfo, CrashPoint, CrashTrigger } from "./crash-trigger.ts";
import { type Frame, FrameSplitter, readStrings, startupCode, startupCodes } from "./frame-splitter.ts";
import type { NetworkGate } from "./network-faults.ts";
import { SessionProgress, type SyncPoint } from "./session-progress.ts";

/** What a connection needs of its proxy. */
export interface ProxiedConnectionHost {
  readonly target: { readonly host: string; readonly port: number };
  readonly network: NetworkGate;
  readonly trigger: CrashTrigger;
  /** Makes the cut (or the kill) at a point that `connection` has reached. */
  fire(trigger: CrashTrigger, point: CrashPoint, connection: ProxiedConnection): void;
}

/** What rides on a batch whose answer is to be swallowed or held. */
interface Cut {
  readonly trigger: CrashTrigger;
  readonly point: CrashPoint;
}

const serverGoneLimitMs = 5_000;
const clientGoneLimitMs = 5_000;

/**
 * One client's connection and its counterpart at the server. Frontend frames are held until their batch is whole, so that a
 * cut *before* hides all of it; that is invisible to the client, since the server answers nothing before Sync or Flush.
 */
export class ProxiedConnection {
  info: ConnectionInfo;
  /** Resolves when both ends are closed. */
  readonly closed: Promise<void>;
  readonly #host: ProxiedConnectionHost;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #clientClosed: Promise<void>;
  readonly #serverClosed: Promise<void>;
  readonly #progress = new SessionProgress<Cut>();
  #batch: Buffer[] = [];
  #answered: (() => void)[] = [];
  #serverGone = false;
  #severed = false;

  constructor(host: ProxiedConnectionHost, client: Socket, id: number) {
    this.#host = host;
    this.#client = client;
    this.info = { id, user: "", database: "", applicationName: "" };
    this.#server = connect({ host: host.target.host, port: host.target.port, allowHalfOpen: true, noDelay: true });
    this.#clientClosed = new Promise((resolve) => client.once("close", () => resolve()));
    this.#serverClosed = new Promise((resolve) => this.#server.once("close", () => resolve()));
    this.closed = Promise.all([this.#clientClosed, this.#serverClosed]).then(() => {});
    const fromClient = new FrameSplitter("frontend");
    const fromServer = new FrameSplitter("backend");
    this.#pump(client, this.#server, async (chunk) => {
      for (const frame of fromClient.push(chunk)) await this.#fromClient(frame);
    });
    this.#pump(this.#server, client, (chunk) => this.#fromServer(fromServer.push(chunk)));
  }

  /** Closes the client's end, then the server's; resolves when the server's process has let go. */
  async sever(): Promise<void> {
    this.#severed = true;
    this.#releaseWaiters();
    this.#client.destroy();
    await this.#endServer();
  }

  /** Waits until the client has gone by itself (it was killed), then closes the server's end. */
  async severAfterClient(): Promise<void> {
    this.#severed = true;
    this.#releaseWaiters();
    await Promise.race([this.#clientClosed, wait(clientGoneLimitMs, undefined, { ref: false })]);
    await this.sever();
  }

  /** Resets both ends. */
  reset(): void {
    this.#severed = true;
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  /** Ends the stream toward one side; the other direction goes on. */
  halfClose(toward: "client" | "server"): void {
    (toward === "client" ? this.#client : this.#server).end();
  }

  /** The server's end goes; the client isn't told, and what it sends is lost. */
  async halfOpen(): Promise<void> {
    this.#severed = true;
    await this.#endServer();
  }

  async #endServer(): Promise<void> {
    // A clean end rather than a reset: the server closes its end when its process exits, which is after it released its locks.
    this.#server.resume();
    this.#server.end();
    const limit = new AbortController();
    const giveUp = wait(serverGoneLimitMs, undefined, { signal: limit.signal }).then(
      () => this.#server.destroy(),
      () => {},
    );
    await Promise.race([this.#serverClosed, giveUp]);
    limit.abort();
  }

  /** Relays one direction, chunk by chunk: the next is read when this one has been dealt with. */
  #pump(from: Socket, to: Socket, handle: (chunk: Buffer) => Promise<void>): void {
    let last = Promise.resolve();
    const queue = (work: () => Promise<void> | void): Promise<void> => {
      last = last.then(async () => {
        const arrives = await this.#host.network.pass(this.info, () => this.reset());
        if (arrives && !this.#severed) await work();
      });
      return last;
    };
    from.on("data", (chunk: Buffer) => {
      from.pause();
      void queue(() => handle(chunk)).finally(() => from.resume());
    });
    from.on("end", () => {
      const work = (): void => {
        to.end();
        // Postgres never half-closes: its end of stream is the end of the session.
        if (from === this.#server) this.#serverLost();
      };
      void queue(work).finally(() => {
        if (this.#severed) from.destroy();
      });
    });
    from.on("error", () => {});
    from.on("close", () => {
      // An end that failed takes the other with it; one that closed in order has ended it already.
      if (from.errored !== null) void queue(() => void to.destroy());
      if (from === this.#server) this.#serverLost();
    });
  }

  async #fromClient(frame: Frame): Promise<void> {
    if (this.#severed) return;
    if (frame.type === "startup") return this.#startup(frame);
    this.#batch.push(frame.bytes);
    const next = this.#progress.frontend(frame);
    if (next === "send") await this.#forward();
    else if (next !== "gather") await this.#syncPoint(next);
  }

  async #startup(frame: Frame): Promise<void> {
    const code = startupCode(frame);
    if (code === startupCodes.ssl || code === startupCodes.gssEncryption) {
      // Answered here: what is encrypted can't be read.
      await send(this.#client, Buffer.from("N"));
      return;
    }
    if (code !== startupCodes.cancel) {
      const words = readStrings(frame.body.subarray(4), Number.MAX_SAFE_INTEGER);
      const given = (name: string): string =>
        words.find((_, index) => words[index - 1] === name && index % 2 === 1) ?? "";
      const user = given("user");
      const database = given("database") || user;
      this.info = { id: this.info.id, user, database, applicationName: given("application_name") };
    }
    await send(this.#server, frame.bytes);
  }

  async #syncPoint(sync: SyncPoint): Promise<void> {
    const trigger = this.#host.trigger;
    const point = trigger.count(sync.texts, this.info, this.#progress.transaction);
    if (point === undefined || trigger.side === "after") {
      this.#progress.sent(sync, point && { trigger, point });
      await this.#forward();
      // Behind the point the client is read no further: what it sent meanwhile must not reach the server.
      if (point !== undefined) await this.#allAnswered();
      return;
    }
    await this.#allAnswered();
    if (this.#severed) return;
    if (trigger.options.hold !== true) return this.#host.fire(trigger, point, this);
    trigger.fire(point, Promise.resolve());
    await trigger.released;
    this.#progress.sent(sync);
    await this.#forward();
  }

  async #forward(): Promise<void> {
    const bytes = Buffer.concat(this.#batch);
    this.#batch = [];
    await send(this.#server, bytes);
  }

  async #fromServer(frames: readonly Frame[]): Promise<void> {
    let passing: Buffer[] = [];
    for (const frame of frames) {
      const { mark: cut, ends } = this.#progress.backend(frame);
      if (cut !== undefined && ends) {
        await send(this.#client, Buffer.concat(passing));
        passing = [];
        if (cut.trigger.options.hold !== true) {
          this.#host.fire(cut.trigger, cut.point, this);
          return;
        }
        cut.trigger.fire(cut.point, Promise.resolve());
        await cut.trigger.released;
      }
      if (cut === undefined || cut.trigger.options.hold === true) passing.push(frame.bytes);
      if (ends) this.#releaseWaiters();
    }
    await send(this.#client, Buffer.concat(passing));
  }

  /** Resolves when the server has answered all that was forwarded, or is gone. */
  async #allAnswered(): Promise<void> {
    while (!this.#progress.allAnswered && !this.#severed && !this.#serverGone) {
      await new Promise<void>((resolve) => this.#answered.push(resolve));
    }
  }

  /** The server closed the connection: an answer to swallow won't come any more, which is as good as swallowed. */
  #serverLost(): void {
    if (this.#serverGone) return;
    this.#serverGone = true;
    const cut = this.#progress.mark;
    if (cut !== undefined && !this.#severed) this.#host.fire(cut.trigger, cut.point, this);
    this.#releaseWaiters();
  }

  #releaseWaiters(): void {
    for (const resolve of this.#answered.splice(0)) resolve();
  }
}

/** Writes, and waits while the other side takes no more. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  if (bytes.length === 0 || !socket.writable || socket.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done);
    socket.on("close", done);
  });
}
