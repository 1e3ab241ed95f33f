import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

/** The built program in a process of its own, started as a user does, with all that it has said so far. */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #said = "";
  #heard: () => void = () => {};

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, ["--enable-source-maps", MAIN, ...args], { stdio: "pipe" });
    const listen = (chunk: Buffer) => {
      this.#said += chunk.toString();
      this.#heard();
    };
    this.#child.stdout?.on("data", listen);
    this.#child.stderr?.on("data", listen);
    this.#exit = once(this.#child, "close").then(([code]) => code as number | null);
  }

  get said(): string {
    return this.#said;
  }

  /** Waits until it has said something; fails if it ends before. */
  async untilSaid(pattern: RegExp): Promise<void> {
    let ended = false;
    while (!pattern.test(this.#said)) {
      if (ended) throw new Error(`the program ended before it said ${pattern}:\n${this.#said}`);
      const heard = new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
      await Promise.race([heard, this.#exit.then(() => (ended = true))]);
    }
  }

  /** Types a line. */
  type(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Sends a signal, and waits for the end. @returns the exit code, null if the signal ended it */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return await this.#exit;
  }

  /** Waits for the end. @returns the exit code */
  async exited(): Promise<number | null> {
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("SIGKILL");
  }
}
