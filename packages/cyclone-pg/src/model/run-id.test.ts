import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bucketOf, isRunId, newRunId, slotOf, slotOfKey } from "./run-id.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a run's id", () => {
  test("is a UUIDv7 with the clock's milliseconds", () => {
    vi.setSystemTime(Date.UTC(2100, 0, 1));
    const id = newRunId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.UTC(2100, 0, 1));
    expect(isRunId(id)).toBe(true);
  });

  test("grows within a millisecond, over milliseconds, and when the clock steps back", () => {
    vi.setSystemTime(Date.UTC(2101, 0, 1));
    const ids = Array.from({ length: 5000 }, () => newRunId());
    vi.setSystemTime(Date.UTC(2101, 0, 1) + 1);
    ids.push(newRunId());
    vi.setSystemTime(Date.UTC(2090, 0, 1));
    for (let i = 0; i < 100; i++) ids.push(newRunId());
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([0, 1, 777, 16_383])("carries the slot %d in its last 14 bits", (slot) => {
    for (let i = 0; i < 20; i++) expect(slotOf(newRunId(slot))).toBe(slot);
  });

  test("spreads over slots and buckets when no slot is given", () => {
    const ids = Array.from({ length: 4000 }, () => newRunId());
    expect(new Set(ids.map(slotOf)).size).toBeGreaterThan(3000);
    const buckets = [0, 0, 0, 0];
    for (const id of ids) {
      const bucket = bucketOf(id, 4);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    for (const count of buckets) expect(count).toBeGreaterThan(850);
    expect(ids.every((id) => bucketOf(id, 1) === 0)).toBe(true);
  });

  test("is told from other texts by its form", () => {
    expect(isRunId("01A22D39-E1A5-742D-93AA-B935AF9EC309")).toBe(true);
    for (const text of [
      "",
      "x",
      "01a22d39e1a5742d93aab935af9ec309",
      "01a22d39-e1a5-742d-93aa-b935af9ec30",
      " 01a22d39-e1a5-742d-93aa-b935af9ec309",
      5,
      null,
    ]) {
      expect(isRunId(text)).toBe(false);
    }
  });
});

describe("the slot of a key", () => {
  // Other versions and languages must find the same bucket: these figures never change.
  test.each([
    ["workflow", "ingest", "order-1", 5_653],
    ["step", "ingest", "order-1", 14_387],
    ["action", "ärger", "🦀", 12_334],
  ] as const)("of %s %s and key %s is fixed", (kind, name, key, slot) => {
    expect(slotOfKey(kind, name, key)).toBe(slot);
  });

  test("depends on each of its parts, and not on where one ends", () => {
    const slots = new Set(
      ["a b", "b a", "ab ", " ab"].map((text) => slotOfKey("step", text.slice(0, 1), text.slice(1))),
    );
    expect(slots.size).toBe(4);
  });
});
