import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Session } from "../db/session.ts";
import { ConnectionError } from "../errors/connection-error.ts";
import type { ClaimStepsParams } from "../sql/claim/claim-steps.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { Quarantine } from "./quarantine.ts";

/** A loop over a database that answers as told, with 100 free slots. */
function loopOver(bucketCount: number, answer: (claim: ClaimStepsParams) => unknown[]): ClaimLoop {
  const run = async (_statement: unknown, claim: ClaimStepsParams) => {
    await turn();
    return answer(claim);
  };
  const session = { run } as unknown as Session;
  const lanes = { queues: ["default"], steps: ["a", "b"] };
  const loop = new ClaimLoop({
    ...lanes,
    session,
    bucketCount,
    owner: "",
    leaseMs: 30_000,
    inputBytesMax: 1_000,
    quarantine: new Quarantine({ ...lanes, session, onIsolated: () => undefined }),
    freeSlots: () => 100,
    freeSlotsOf: () => 100,
    onClaimed: () => undefined,
    onTrouble: () => undefined,
  });
  onTestFinished(() => loop.stop());
  loop.start();
  return loop;
}

const nothing = (seen: number) => [{ run_id: null, seen }];

test("a row that stays locked is asked for once more, and not for ever, however many buckets there are", async () => {
  const asked: number[] = [];
  loopOver(4, ({ bucket }) => {
    asked.push(bucket);
    return nothing(bucket === 2 ? 1 : 0);
  });
  for (let i = 0; i < 500; i++) await turn();
  expect(asked.length).toBeGreaterThan(4);
  expect(asked.length).toBeLessThanOrEqual(8);
});

test("a claim that takes longer than a statement may is followed by smaller ones", async () => {
  const limits: number[] = [];
  const answered = new Promise<void>((resolve) => {
    loopOver(1, ({ limit }) => {
      limits.push(limit);
      if (limit > 20) throw new ConnectionError("The database didn't answer within 15000 ms.");
      resolve();
      return nothing(0);
    });
  });
  await answered;
  expect(limits).toEqual([100, 25, 6]);
});

test("after a slow claim it asks for what is recent, and then by itself for everything again", async () => {
  const asked: (string | undefined)[] = [];
  let tookMs = 60;
  const again = new Promise<void>((resolve) => {
    const loop = loopOver(1, ({ since }) => {
      asked.push(since[0]);
      if (asked.length === 1) setImmediate(() => loop.wake());
      if (asked.length > 1 && since[0] === "-infinity") resolve();
      const answer = [{ ...nothing(0)[0], queue: null, asked_ms: Date.parse("2026-01-01T12:00:00Z"), took_ms: tookMs }];
      tookMs = 1;
      return answer;
    });
  });
  await again;
  expect(asked).toEqual(["-infinity", "2026-01-01T11:59:55.000Z", "-infinity"]);
});
