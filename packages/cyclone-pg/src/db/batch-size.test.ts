import { expect, test } from "vitest";
import { BatchSize } from "./batch-size.ts";

const quick = async () => "done";
const fails = async () => {
  throw new Error("took too long");
};

test("a failure quarters the next batch, down to one; full and quick ones double it, up to the most", async () => {
  const size = new BatchSize(100, 1_000);
  for (const next of [25, 6, 1, 1]) {
    await expect(size.measured(size.max, fails)).rejects.toThrow("took too long");
    expect(size.max).toBe(next);
  }
  for (const next of [2, 4, 8, 16, 32, 64, 100, 100]) {
    expect(await size.measured(size.max, quick)).toBe("done");
    expect(size.max).toBe(next);
  }
});

test("a slow batch halves the next", async () => {
  const size = new BatchSize(100, -1); // any time is too long
  await size.measured(40, quick);
  expect(size.max).toBe(20);
});

test("one that isn't full tells nothing of what would be too much", async () => {
  const size = new BatchSize(100, 1_000);
  await expect(size.measured(100, fails)).rejects.toThrow();
  await size.measured(3, quick);
  expect(size.max).toBe(25);
});

test("where little is known it begins small, and slowness alone makes it no smaller than that, nor larger", async () => {
  const size = new BatchSize(100, 1_000, 20);
  expect(size.max).toBe(20);
  await size.measured(20, quick);
  expect(size.max).toBe(40);
  const slow = new BatchSize(100, -1, 20);
  await slow.measured(20, quick);
  expect(slow.max).toBe(20);
  await expect(slow.measured(20, fails)).rejects.toThrow();
  await slow.measured(5, quick);
  expect(slow.max).toBe(5);
});
