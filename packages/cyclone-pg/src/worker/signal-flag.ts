/** A wish that is remembered until somebody waits for it. */
export class SignalFlag {
  #set = false;
  #wake: (() => void) | undefined;

  raise(): void {
    this.#set = true;
    this.#wake?.();
  }

  /** Resolves once it has been raised since the last time, and lowers it. */
  async taken(): Promise<void> {
    while (!this.#set) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    this.#set = false;
  }
}
