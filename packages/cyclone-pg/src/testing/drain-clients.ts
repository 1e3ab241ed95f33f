import type { Client } from "../client/client.ts";
import { DrainTimeoutError } from "../errors/drain-timeout-error.ts";
import { type Duration, toMilliseconds } from "../model/duration.ts";
import type { TestClock } from "./clock.ts";

/**
 * Drains clients in rounds, until a round has called no handler: what one of them completes may be work for another.
 * @param clock advances to the next scheduled node after such a round, and it goes on; `undefined`: what is scheduled stays
 * @throws DrainTimeoutError (`CYCLONE_DRAIN_TIMEOUT`)
 */
export async function drainClients(
  clients: readonly Client[],
  timeout: Duration,
  clock: TestClock | undefined,
): Promise<void> {
  const timeoutMs = toMilliseconds(timeout, "timeout");
  const until = performance.now() + timeoutMs;
  for (;;) {
    const called = await drainOnce(clients, until, timeoutMs);
    if (called > 0 && clients.length > 1) continue;
    if (clock === undefined || !(await clock.advanceToNext())) return;
  }
}

/** @returns how many handlers were called */
async function drainOnce(clients: readonly Client[], until: number, timeoutMs: number): Promise<number> {
  const leftMs = until - performance.now();
  if (leftMs <= 0) throw new DrainTimeoutError(timeoutMs);
  let called = 0;
  const offs = clients.map((client) =>
    client.on("step.claimed", () => {
      called += 1;
    }),
  );
  try {
    await Promise.all(clients.map((client) => client.drain({ timeout: leftMs })));
  } catch (error) {
    throw error instanceof DrainTimeoutError ? new DrainTimeoutError(timeoutMs) : error;
  } finally {
    for (const off of offs) off();
  }
  return called;
}
