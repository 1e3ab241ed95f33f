import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** How a process ended. */
export interface ProcessEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

const ERROR_OUTPUT_BYTES_MAX = 16_384;

/** A real process that runs a fixture, with its standard output read line by line. */
export class FixtureProcess {
  readonly pid: number;
  /** Every line so far. */
  readonly lines: string[] = [];
  /** Settles when the process has ended and all its output is read. */
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();
  #errorOutput = "";
  #end: ProcessEnd | undefined;

  constructor(child: ChildProcess) {
    if (child.pid === undefined || child.stdout === null) throw new Error("The fixture process couldn't be started.");
    this.pid = child.pid;
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.lines.push(line);
      this.#tell();
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errorOutput = (this.#errorOutput + text).slice(-ERROR_OUTPUT_BYTES_MAX);
    });
    this.ended = new Promise((resolve) => {
      child.on("close", (status, signal) => {
        this.#end = { status, signal };
        this.#tell();
        resolve(this.#end);
      });
    });
  }

  /** The end of its standard error. */
  get errorOutput(): string {
    return this.#errorOutput;
  }

  /** Sends one line to its standard input. */
  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** The first line, past or to come, that matches. Rejects when the process ends without one, or after `deadlineMs`. */
  waitForLine(pattern: RegExp, deadlineMs = 20_000): Promise<string> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        act();
      };
      const look = () => {
        const line = this.lines.find((candidate) => pattern.test(candidate));
        if (line !== undefined) settle(() => resolve(line));
        else if (this.#end !== undefined) settle(() => reject(this.#missing(pattern, "before the process ended")));
      };
      const timer = setTimeout(
        () => settle(() => reject(this.#missing(pattern, `within ${deadlineMs} ms`))),
        deadlineMs,
      );
      this.#watchers.add(look);
      look();
    });
  }

  /** Sends a signal; SIGSTOP and SIGCONT return at once, any other one waits for the end. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.#end !== undefined) return;
    this.#child.kill(signal);
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") await this.ended;
  }

  #tell(): void {
    for (const look of this.#watchers) look();
  }

  #missing(pattern: RegExp, when: string): Error {
    const output = [...this.lines.slice(-20), this.#errorOutput.trimEnd()].join("\n");
    return new Error(
      `No line matched ${pattern} ${when} (${JSON.stringify(this.#end)}). Its output ends with:\n${output}`,
    );
  }
}

/**
 * Runs a compiled or plain JavaScript file (an absolute path or a file URL) in a Node.js process of its own. Called
 * within a test, the process is killed when the test ends, so that none is left behind.
 */
export function spawnFixture(...start: Parameters<typeof startFixture>): FixtureProcess {
  const fixture = startFixture(...start);
  onTestFinished(() => fixture.kill("SIGKILL"));
  return fixture;
}

export interface FixtureOptions {
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** What runs the file: a program and its arguments before the file's path; this Node.js by default. */
  readonly runtime?: readonly [program: string, ...args: string[]];
}

/** The same for concurrent tests, or for several ones: whoever starts it kills it. */
export function startFixture(
  file: string | URL,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  { runtime = [process.execPath, "--enable-source-maps"], ...options }: FixtureOptions = {},
): FixtureProcess {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  const [program, ...before] = runtime;
  return new FixtureProcess(
    spawn(program, [...before, path, ...args], {
      ...options,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...withoutRunner(process.env), ...env },
    }),
  );
}

/** The test runner marks its own processes by the environment; a fixture is an ordinary program. */
function withoutRunner(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !/^(VITEST|TEST$|NODE_OPTIONS$|NODE_ENV$)/.test(name));
  return Object.fromEntries(kept);
}
