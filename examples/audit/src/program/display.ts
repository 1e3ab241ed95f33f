/** Where the program's lines go; process.stdout fits. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Milliseconds; performance.now fits. */
export type Clock = () => number;

const LINE_INTERVAL_MS = 1_000;
const STILL_INTERVAL_MS = 5_000;
const BAR_WIDTH = 24;
/** Some terminals say that they have no columns at all. */
const COLUMNS_DEFAULT = 80;

/**
 * Prints stages, notes, and how far the work is. On a terminal the progress is one line that is drawn anew; elsewhere it is a
 * line for each tenth, at most one a second in between, and one every five seconds when nothing moves.
 */
export class Display {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  #drawn = false;
  #printed: { done: number; at: number } | undefined;

  constructor(terminal: Terminal, clock: Clock = () => performance.now()) {
    this.#terminal = terminal;
    this.#clock = clock;
  }

  /** Says what begins. */
  stage(text: string): void {
    this.#line(`» ${text}`);
  }

  /** A line that belongs to the stage. */
  note(text: string): void {
    this.#line(`  ${text}`);
  }

  /** Lines as they are. */
  lines(texts: readonly string[]): void {
    for (const text of texts) this.#line(text);
  }

  /** Shows that `done` of `total` packages are done. */
  progress(done: number, total: number): void {
    if (this.#terminal.isTTY) this.#draw(done, total);
    else if (this.#isWorthALine(done, total)) {
      this.#line(`  ${progressText(done, total)}`);
      this.#printed = { done, at: this.#clock() };
    }
  }

  /** Ends a progress: the next one starts afresh. */
  endProgress(): void {
    this.#erase();
    this.#printed = undefined;
  }

  #isWorthALine(done: number, total: number): boolean {
    if (this.#printed === undefined) return true;
    const silentMs = this.#clock() - this.#printed.at;
    if (done === this.#printed.done) return silentMs >= STILL_INTERVAL_MS;
    const tenth = (count: number) => Math.floor((10 * count) / Math.max(1, total));
    return silentMs >= LINE_INTERVAL_MS || tenth(done) > tenth(this.#printed.done);
  }

  #draw(done: number, total: number): void {
    const filled = Math.round((BAR_WIDTH * done) / Math.max(1, total));
    const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
    const text = `  ${bar} ${progressText(done, total)}`;
    this.#terminal.write(`\r\u001B[2K${text.slice(0, Math.max(20, (this.#terminal.columns || COLUMNS_DEFAULT) - 1))}`);
    this.#drawn = true;
  }

  #line(text: string): void {
    this.#erase();
    this.#terminal.write(`${text}\n`);
  }

  #erase(): void {
    if (this.#drawn) this.#terminal.write("\r\u001B[2K");
    this.#drawn = false;
  }
}

function progressText(done: number, total: number): string {
  const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
  return `${done} of ${total} packages done (${percent} %)`;
}
