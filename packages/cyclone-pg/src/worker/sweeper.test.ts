import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Session } from "../db/session.ts";
import type { Statement } from "../sql/statement.ts";
import { Quarantine } from "./quarantine.ts";
import { Sweeper } from "./sweeper.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sweeps for ten seconds where something is always due, of which so many can be promoted. @returns the looks */
async function looksWhile(promoted: number): Promise<number> {
  let looks = 0;
  const session = {
    run: async ({ name }: Statement<unknown, unknown>) => {
      if (name !== "look") return [{ promoted }];
      looks += 1;
      return [{ due: true, next_due_ms: -1_000 }];
    },
  } as unknown as Session;
  const lanes = { queues: ["default"], steps: ["a"] };
  const sweeper = new Sweeper({
    ...lanes,
    session,
    bucketCount: 1,
    leaseMs: 30_000,
    pollMs: 5_000,
    quarantine: new Quarantine({ ...lanes, session, onIsolated: () => undefined }),
    onAvailable: () => undefined,
    onReleased: () => undefined,
    onReclaimed: () => undefined,
    record: () => undefined,
    onEnded: () => undefined,
    onStopped: () => undefined,
    onTrouble: () => undefined,
  });
  onTestFinished(() => sweeper.stop());
  sweeper.start();
  await vi.advanceTimersByTimeAsync(10_000);
  return looks;
}

test("what is due and can't be promoted, since it is locked or set aside, is looked at by the poll only", async () => {
  expect(await looksWhile(0)).toBeLessThanOrEqual(3);
});

test("where something was promoted, what comes after it is looked for soon", async () => {
  expect(await looksWhile(1)).toBeGreaterThan(50);
});
