import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import type { GuardianMessage, GuardianOrder } from "./guardian-messages.ts";
import { releaseServer } from "./release-server.ts";

type Ready = GuardianMessage & { kind: "ready" };
type Failed = GuardianMessage & { kind: "failed" };

/** The starting process's end of a guardian. */
export class Guardian {
  /** Settles when the server is ready, or rejects with what the guardian said. */
  readonly ready: Promise<Ready>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exited: Promise<{ status: number | null; killedBy: string | null }>;
  #failure: Failed | undefined;
  #complaint = "";

  constructor(order: GuardianOrder, onProgress: (message: string) => void) {
    const main = fileURLToPath(new URL("./main.js", import.meta.url));
    // In a session of its own, so that Ctrl-C in a terminal reaches this process alone.
    this.#child = spawn(process.execPath, [main, JSON.stringify(order)], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      windowsHide: true,
      env: withoutNodeOptions(),
    });
    this.#exited = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        this.#complaint += error.message;
        resolve({ status: null, killedBy: null });
      });
      this.#child.on("close", (status, killedBy) => resolve({ status, killedBy }));
    });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-4096);
    });
    this.ready = this.#listen(onProgress);
  }

  /** Ends the pipe that the guardian blocks on and waits until it has cleaned up. */
  async release(): Promise<void> {
    const ready = await this.ready;
    this.#child.ref();
    this.#child.stdin.end();
    const { status, killedBy } = await this.#exited;
    if (status === 0) return;
    // A guardian that was killed couldn't clean up: it is done from here.
    if (killedBy !== null) return releaseServer(ready.held);
    throw this.#error(`The guardian of Postgres ended with status ${status}.`);
  }

  #listen(onProgress: (message: string) => void): Promise<Ready> {
    return new Promise((resolve, reject) => {
      createInterface({ input: this.#child.stdout }).on("line", (line) => {
        const message = JSON.parse(line) as GuardianMessage;
        if (message.kind === "progress") onProgress(message.message);
        else if (message.kind === "failed") this.#failure = message;
        else {
          this.#unref();
          resolve(message);
        }
      });
      void this.#exited.then(({ status, killedBy }) =>
        reject(this.#error(`The guardian of Postgres ended early (${killedBy ?? status}).`)),
      );
    });
  }

  #error(otherwise: string): EmbeddedPostgresError {
    if (this.#failure !== undefined) return new EmbeddedPostgresError(this.#failure.message, this.#failure.log);
    return new EmbeddedPostgresError(`${otherwise} ${this.#complaint}`.trim());
  }

  /** A server that runs doesn't keep its program alive. */
  #unref(): void {
    this.#child.unref();
    for (const stream of this.#child.stdio) (stream as Socket | null)?.unref();
  }
}

/** Without NODE_OPTIONS: a debugger or a loader of this process is not meant for the guardian. */
function withoutNodeOptions(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = process.env;
  return rest;
}
