import { setTimeout as sleep } from "node:timers/promises";

const PAUSE_MS = 20;

/**
 * Repeats an assertion until it holds and gives back what it returned. After `deadlineMs` its last failure is thrown.
 * For what happens soon, at no known moment: never wait for that with a fixed sleep.
 */
export async function eventually<T>(assertion: () => T | Promise<T>, deadlineMs = 30_000): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await assertion();
    } catch (failure) {
      if (performance.now() >= deadline) throw failure;
    }
    await sleep(PAUSE_MS);
  }
}
