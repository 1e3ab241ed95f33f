import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** What a client asked of the engine. The answer is one of: */
export interface OperationEvent {
  /**
   * - `invoke`: about to ask. Without an answer behind it (the process was killed) it counts as `info`.
   * - `ok`: it returned; it must have happened.
   * - `info`: the answer was lost; it may or may not have happened.
   * - `fail`: it was refused; it can't have happened.
   */
  readonly type: "invoke" | "ok" | "info" | "fail";
  readonly operation: "submit" | "cancel" | "signal" | "retry";
  /** Ties the answer to its invocation. */
  readonly id: string;
  /** The idempotency key, by which a submit is looked for whose answer was lost. */
  readonly key?: string | undefined;
  readonly run?: string | undefined;
  readonly error?: string | undefined;
  readonly pid: number;
  /** Milliseconds since 1970, of this machine's clock. */
  readonly at: number;
}

/** A handler was entered, or left. */
export interface HandlerEvent {
  readonly type: "start" | "end";
  readonly run: string;
  readonly node: string;
  /** The lease's epoch; null where the handler can't know it. */
  readonly epoch: number | null;
  /** At the end: whether it threw. */
  readonly threw?: boolean | undefined;
  readonly pid: number;
  readonly at: number;
}

export type HistoryEvent = OperationEvent | HandlerEvent;

const lineBytesMax = 4_096;

/** Appends events to a file that several processes share. What `append` has returned for survives a kill -9. */
export class History implements Disposable {
  readonly #file: number;
  #operations = 0;

  /** @param path created if it isn't there; never truncated */
  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  append(event: HistoryEvent): void {
    const line = Buffer.from(JSON.stringify(event));
    if (line.length > lineBytesMax) throw new Error(`a history line of ${line.length} bytes: keep payloads out of it`);
    // One write, so that lines of several processes don't mix. The break in front keeps this one whole even if the process
    // that wrote before was killed in the middle of its line.
    const bytes = Buffer.concat([lineBreak, line, lineBreak]);
    const written = writeSync(this.#file, bytes);
    if (written !== bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes of a history line were written`);
  }

  /**
   * Records an operation around `work`, which returns the run's id.
   *
   * @param isRefusal whether an error proves that nothing happened; any other is an answer that was lost
   */
  async operation<Result extends { readonly run?: string }>(
    operation: OperationEvent["operation"],
    about: { readonly key?: string; readonly run?: string },
    work: () => Promise<Result>,
    isRefusal: (error: unknown) => boolean = () => false,
  ): Promise<Result> {
    const id = `${process.pid}-${++this.#operations}`;
    const write = (type: OperationEvent["type"], more: { run?: string | undefined; error?: string } = {}): void =>
      this.append({ type, operation, id, ...about, ...more, pid: process.pid, at: Date.now() });
    write("invoke");
    try {
      const result = await work();
      write("ok", { run: result.run ?? about.run });
      return result;
    } catch (error) {
      write(isRefusal(error) ? "fail" : "info", { error: String(error).slice(0, 500) });
      throw error;
    }
  }

  /** Records a handler's start and end around `work`. */
  async handler<Result>(
    about: { readonly run: string; readonly node: string; readonly epoch?: number | null },
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    const { run, node, epoch = null } = about;
    const write = (type: HandlerEvent["type"], threw?: boolean): void =>
      this.append({ type, run, node, epoch, threw, pid: process.pid, at: Date.now() });
    write("start");
    let threw = true;
    try {
      const result = await work();
      threw = false;
      return result;
    } finally {
      write("end", threw);
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const lineBreak = Buffer.from("\n");

/** A history as it was found. */
export interface ReadHistory {
  /** In the order in which they were appended, over all processes. */
  readonly events: readonly HistoryEvent[];
  /** Lines that a killed process left unfinished: their `append` never returned, so nobody can have relied on them. */
  readonly torn: readonly string[];
}

export function readHistory(path: string): ReadHistory {
  const events: HistoryEvent[] = [];
  const torn: string[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (line === "") continue;
    try {
      events.push(JSON.parse(line) as HistoryEvent);
    } catch {
      torn.push(line);
    }
  }
  return { events, torn };
}
