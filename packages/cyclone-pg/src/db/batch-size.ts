/**
 * How many rows a statement may be about, by how the last ones went: what is large, or slow today, comes in smaller batches, and the same
 * batch isn't sent for ever where it takes longer than a statement may.
 */
export class BatchSize {
  readonly #most: number;
  readonly #slowMs: number;
  readonly #first: number;
  #max: number;

  /**
   * @param slowMs a batch that took longer is followed by one of half its size
   * @param first size of the first batch, where nothing is known of what the rows hold; slowness alone makes none smaller
   */
  constructor(most: number, slowMs: number, first?: number) {
    this.#most = most;
    this.#slowMs = slowMs;
    this.#first = first ?? 1;
    this.#max = first ?? most;
  }

  /** Of the next batch. */
  get max(): number {
    return this.#max;
  }

  /** Runs a batch of `size`. After a failure a quarter of it is the most, after a full and quick one twice as much. */
  async measured<T>(size: number, work: () => Promise<T>): Promise<T> {
    const before = this.#max;
    const began = performance.now();
    this.#max = Math.max(1, size >> 2); // should it fail
    const result = await work();
    if (performance.now() - began > this.#slowMs) this.#max = Math.min(before, Math.max(this.#first, size >> 1));
    else this.#max = size === before ? Math.min(this.#most, 2 * before) : before;
    return result;
  }
}
