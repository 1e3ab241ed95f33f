/** How many handlers run, altogether and per queue, and how many more may. */
export class Slots {
  readonly #limit: number;
  readonly #limits: ReadonlyMap<string, number>;
  readonly #byQueue = new Map<string, number>();
  #used = 0;

  constructor(limit: number, limits: ReadonlyMap<string, number>) {
    this.#limit = limit;
    this.#limits = limits;
  }

  get used(): number {
    return this.#used;
  }

  get free(): number {
    return this.#limit - this.#used;
  }

  freeOf(queue: string): number {
    return Math.min(this.free, (this.#limits.get(queue) ?? 0) - (this.#byQueue.get(queue) ?? 0));
  }

  take(queue: string): void {
    this.#used += 1;
    this.#byQueue.set(queue, (this.#byQueue.get(queue) ?? 0) + 1);
  }

  release(queue: string): void {
    this.#used -= 1;
    this.#byQueue.set(queue, (this.#byQueue.get(queue) ?? 1) - 1);
  }
}
