import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A worker in a process of its own, which can be killed. */
export class WorkerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** `stopIn`: the step in which it stands still, see worker.ts. */
  constructor(databaseUrl: string, servicesUrl: string, stopIn?: string) {
    // The compiled worker stands beside this file, compiled too.
    const file = fileURLToPath(new URL("./worker.js", import.meta.url));
    this.#child = fork(file, [databaseUrl, servicesUrl, ...(stopIn === undefined ? [] : [stopIn])]);
    this.#exited = once(this.#child, "exit");
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Waits until the worker stands still in its step. @throws Error if it ends before */
  async untilStanding(): Promise<void> {
    const standing = new Promise<void>((resolve) => {
      this.#child.on("message", (message) => {
        if (typeof message === "string" && message.startsWith("standing in ")) resolve();
      });
    });
    const ended = this.#exited.then(() => {
      throw new Error("the worker ended before it came to the step");
    });
    await Promise.race([standing, ended]);
  }

  /** `kill -9`: nothing in the process gets to know of it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** Asks it to stop, and waits. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exited;
  }
}
