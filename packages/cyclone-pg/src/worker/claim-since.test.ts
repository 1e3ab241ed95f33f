import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Claimed, ClaimSince } from "./claim-since.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const EVER = "-infinity";
const lanes = { queues: ["a", "a", "b"], steps: ["s", "t", "s"], quotas: [5, 5, 1], sole: [false, false, false] };
const told = { asked_ms: Date.parse("2026-01-01T12:00:00Z"), took_ms: 100 };
const nothing = [{ ...told, queue: null, waited_ms: null }];
const hourOld = (queue: string) => ({ ...told, queue, waited_ms: 3_600_000 });
/** A slow claim of everything in two queues, of which the second has one free slot, that found nothing. */
const slow: Claimed = { bucket: 0, lanes, since: [EVER, EVER, EVER], limit: 6, answer: nothing };

function after(claimed: Partial<Claimed>, onEver = () => {}): ClaimSince {
  const since = new ClaimSince(onEver);
  since.claimed({ ...slow, ...claimed });
  return since;
}

const NOON = "2026-01-01T11:59:55.000Z";
const ELEVEN = "2026-01-01T10:59:55.000Z";

test("claims are of everything as long as these are quick", () => {
  expect(after({ answer: [{ ...hourOld("a"), took_ms: 20 }] }).of(0, lanes)).toEqual([EVER, EVER, EVER]);
});

test("a slow claim that took all there was is followed by claims of what came after it, for ten times as long", () => {
  const onEver = vi.fn();
  const since = after({ answer: [{ ...hourOld("a"), took_ms: 2 }, hourOld("a")] }, onEver);
  expect(since.of(0, lanes)).toEqual([NOON, NOON, NOON]);
  expect(since.of(1, lanes)).toEqual([EVER, EVER, EVER]);
  vi.advanceTimersByTime(999);
  expect(since.of(0, lanes)[0]).toBe(NOON);
  expect(onEver).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(since.of(0, lanes)[0]).toBe(EVER);
  expect(onEver).toHaveBeenCalledTimes(1);
});

test("a queue of which a slow claim may have left some is claimed from where it began", () => {
  expect(after({ answer: [hourOld("b")] }).of(0, lanes)).toEqual([NOON, NOON, ELEVEN]);
});

test("of a full claim it isn't known what it has left in a queue that it took nothing of", () => {
  expect(after({ answer: [hourOld("a")], limit: 1 }).of(0, lanes)).toEqual([ELEVEN, ELEVEN, EVER]);
});

test("a claim of what is recent that isn't full is followed by one of everything, where more was known to be", () => {
  const onEver = vi.fn();
  const since = after({ answer: [hourOld("a")], limit: 1 }, onEver);
  const recent = { ...slow, since: since.of(0, lanes) };
  since.claimed({ ...recent, limit: 1, answer: [{ ...hourOld("a"), took_ms: 1 }] });
  expect(since.of(0, lanes)).toEqual([ELEVEN, ELEVEN, EVER]);
  expect(onEver).not.toHaveBeenCalled();
  since.claimed({ ...recent, limit: 1, answer: [{ ...told, took_ms: 1, queue: null, waited_ms: null }] });
  expect(since.of(0, lanes)).toEqual([EVER, EVER, EVER]);
  expect(onEver).toHaveBeenCalledTimes(1);
});

test("claims of what is recent don't put off the next one of everything", () => {
  const since = after({});
  vi.advanceTimersByTime(900);
  since.claimed({ ...slow, since: since.of(0, lanes) });
  vi.advanceTimersByTime(100);
  expect(since.of(0, lanes)).toEqual([EVER, EVER, EVER]);
});

test("however slow it was, what is older waits for ten seconds at most", () => {
  const since = after({ answer: [{ ...hourOld("a"), took_ms: 14_000 }] });
  vi.advanceTimersByTime(9_999);
  expect(since.of(0, lanes)[0]).toBe(NOON);
  vi.advanceTimersByTime(1);
  expect(since.of(0, lanes)[0]).toBe(EVER);
});

test("once it is stopped it wakes nobody", () => {
  const onEver = vi.fn();
  const since = after({}, onEver);
  since.stop();
  since.claimed(slow);
  vi.advanceTimersByTime(60_000);
  expect(onEver).not.toHaveBeenCalled();
});
