/** What a wake-up is about: steps have become available, runs have ended, steps that others may be running were cancelled. */
export type WakeUp = "work" | "ended" | "stopped";

const GAP_MS = 10;

/**
 * Sends wake-ups to other processes after a commit, coalesced: however many are asked for while one is under way, one follows.
 * Each NOTIFY takes a lock over the whole database at its commit, so that one per submit would put submits in line.
 */
export class Notifier {
  readonly #send: (payloads: WakeUp[]) => Promise<void>;
  readonly #due = new Set<WakeUp>();
  #running: Promise<void> | undefined;

  constructor(send: (payloads: WakeUp[]) => Promise<void>) {
    this.#send = send;
  }

  notify(wakeUp: WakeUp): void {
    this.#due.add(wakeUp);
    this.#running ??= this.#run();
  }

  /** Resolves once nothing is due or under way. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // what the caller's turn still adds goes along
    try {
      while (this.#due.size > 0) {
        const payloads = [...this.#due];
        this.#due.clear();
        await this.#send(payloads).catch(() => undefined); // a wake-up that is lost costs one poll interval
        if (this.#due.size > 0) await new Promise((resolve) => setTimeout(resolve, GAP_MS));
      }
    } finally {
      this.#running = undefined;
    }
    if (this.#due.size > 0) this.#running ??= this.#run();
  }
}
