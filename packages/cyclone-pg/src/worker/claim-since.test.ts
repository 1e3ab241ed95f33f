import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Claimed, ClaimSince } from "./claim-since.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const EVER = "-infinity";
/** A slow claim of everything in two queues, of which the second has one free slot, that found nothing. */
const slow: Claimed = {
  bucket: 0,
  lanes: { queues: ["a", "a", "b"], steps: ["s", "t", "s"], quotas: [5, 5, 1], sole: [false, false, false] },
  since: [EVER, EVER, EVER],
  rows: [],
  isFull: false,
  tookMs: 100,
  askedMs: Date.parse("2026-01-01T12:00:00Z"),
};
const hourOld = (queue: string) => ({ queue, waited_ms: 3_600_000 });

function after(claimed: Partial<Claimed>): ClaimSince {
  const since = new ClaimSince();
  since.claimed({ ...slow, ...claimed });
  return since;
}

test("claims are of everything as long as these are quick", () => {
  expect(after({ tookMs: 20 }).of(0, "a")).toBe(EVER);
});

test("a slow claim that took all there was is followed by claims of what came after it, for ten times as long", () => {
  const since = after({ rows: [hourOld("a")] });
  expect(since.of(0, "a")).toBe("2026-01-01T11:59:55.000Z");
  expect(since.of(1, "a")).toBe(EVER);
  expect(since.of(0, "c")).toBe(EVER);
  vi.advanceTimersByTime(999);
  expect(since.of(0, "a")).not.toBe(EVER);
  vi.advanceTimersByTime(1);
  expect(since.of(0, "a")).toBe(EVER);
});

test("a queue of which a slow claim may have left some is claimed from where it began", () => {
  const since = after({ rows: [hourOld("b")] });
  expect(since.of(0, "b")).toBe("2026-01-01T10:59:55.000Z");
  expect(since.of(0, "a")).toBe("2026-01-01T11:59:55.000Z");
});

test("of a full claim it isn't known what it has left in a queue that it took nothing of", () => {
  const since = after({ rows: [hourOld("a")], isFull: true });
  expect(since.of(0, "a")).toBe("2026-01-01T10:59:55.000Z");
  expect(since.of(0, "b")).toBe(EVER);
});

test("claims of what is recent don't put off the next one of everything", () => {
  const since = after({});
  vi.advanceTimersByTime(900);
  since.claimed({ ...slow, since: slow.lanes.queues.map((queue) => since.of(0, queue)) });
  vi.advanceTimersByTime(100);
  expect(since.of(0, "a")).toBe(EVER);
});

test("however slow it was, what is older waits for ten seconds at most", () => {
  const since = after({ tookMs: 14_000 });
  vi.advanceTimersByTime(9_999);
  expect(since.of(0, "a")).not.toBe(EVER);
  vi.advanceTimersByTime(1);
  expect(since.of(0, "a")).toBe(EVER);
});
