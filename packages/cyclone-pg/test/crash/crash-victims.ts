import { type FixtureProcess, startFixture } from "../support/process.ts";
import type { CrashWorld } from "./crash-world.ts";

const READY_LIMIT_MS = 60_000;

/**
 * Processes to be killed, one after the other. One that survived goes on in the next case; the next is started ahead, since
 * that takes longer than a case. Each says what it did in the world's history.
 */
export class CrashVictims implements AsyncDisposable {
  readonly #start: () => FixtureProcess;
  #ahead: FixtureProcess;
  #alive: FixtureProcess | undefined;

  constructor(world: CrashWorld, fixture: string) {
    this.#start = () => startFixture(fixture, [world.historyPath, world.database.url]);
    this.#ahead = this.#start();
  }

  /** The one that would be killed. */
  get pid(): number | undefined {
    return this.#alive?.pid;
  }

  /** A process that works by way of `url`. */
  async working(url: string): Promise<FixtureProcess> {
    if (this.#alive === undefined) {
      this.#alive = await this.#next();
      this.#alive.send(JSON.stringify({ url }));
    }
    return this.#alive;
  }

  /** A process that submits with a key; resolves when it has, or is dead. */
  async submit(url: string, key: string): Promise<void> {
    const victim = (this.#alive ??= await this.#next());
    const done = new RegExp(`^done ${key}$`);
    victim.send(JSON.stringify({ url, submit: key }));
    await Promise.race([victim.waitForLine(done, READY_LIMIT_MS).catch(() => {}), victim.ended]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#ahead.kill(), this.#alive?.kill()]);
  }

  async #next(): Promise<FixtureProcess> {
    const next = this.#ahead;
    this.#ahead = this.#start();
    await next.waitForLine(/^ready$/, READY_LIMIT_MS);
    void next.ended.then(() => {
      if (this.#alive === next) this.#alive = undefined;
    });
    return next;
  }
}
