import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useFixture } from "./fixture.ts";
import { History, type HistoryEvent, readHistory } from "./history.ts";
import { spawnFixture } from "./process.ts";

const writer = useFixture(join(import.meta.dirname, "fixtures/history-writer.ts"));
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cyclone-history-"));
  path = join(folder, "history.jsonl");
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const kinds = (): string[] => readHistory(path).events.map((event) => event.type);
const event = (node: string): HistoryEvent => ({ type: "start", run: "r", node, epoch: 1, pid: 1, at: 0 });

it("keeps all that was appended when the process is killed with -9", async () => {
  const running = spawnFixture(writer.path, [path]);
  await running.waitForLine(/^400$/);
  await running.kill("SIGKILL");
  const { events, torn } = readHistory(path);
  const acknowledged = Number(running.lines.at(-1));
  expect(acknowledged).toBeGreaterThanOrEqual(400);
  expect(events.length).toBeGreaterThanOrEqual(acknowledged);
  expect(events.map((one) => "node" in one && Number(one.node))).toEqual(events.map((_, index) => index + 1));
  expect(torn.length).toBeLessThanOrEqual(1);
});

it("doesn't mix the lines of several processes", async () => {
  const running = [1, 2, 3].map(() => spawnFixture(writer.path, [path, "1000"]));
  await Promise.all(running.map((one) => one.ended));
  const { events, torn } = readHistory(path);
  expect(torn).toEqual([]);
  expect(events).toHaveLength(3_000);
  expect(new Set(events.map((one) => one.pid)).size).toBe(3);
});

it("tolerates a torn line at the end, and goes on after it", () => {
  using history = new History(path);
  history.append(event("a"));
  appendFileSync(path, '{"type":"start","run":"r","no');
  expect(readHistory(path)).toEqual({ events: [event("a")], torn: ['{"type":"start","run":"r","no'] });
  history.append(event("b"));
  expect(readHistory(path)).toEqual({ events: [event("a"), event("b")], torn: ['{"type":"start","run":"r","no'] });
});

it("appends to what is there", () => {
  writeFileSync(path, `${JSON.stringify(event("old"))}\n`);
  using history = new History(path);
  history.append(event("new"));
  expect(readHistory(path).events.map((one) => "node" in one && one.node)).toEqual(["old", "new"]);
});

it("refuses a line that one write might not hold", () => {
  using history = new History(path);
  expect(() => history.append(event("x".repeat(5_000)))).toThrow(/keep payloads out/);
  expect(readFileSync(path, "utf8")).toBe("");
});

it("records an operation as ok, info (answer lost) or fail (refused)", async () => {
  using history = new History(path);
  const refused = new Error("refused");
  const isRefusal = (error: unknown): boolean => error === refused;
  await history.operation("submit", { key: "k1" }, async () => ({ run: "r1" }), isRefusal);
  const lost = history.operation("submit", { key: "k2" }, () => Promise.reject(new Error("reset")), isRefusal);
  await expect(lost).rejects.toThrow("reset");
  await expect(history.operation("cancel", { run: "r1" }, () => Promise.reject(refused), isRefusal)).rejects.toThrow();
  expect(kinds()).toEqual(["invoke", "ok", "invoke", "info", "invoke", "fail"]);
  expect(readHistory(path).events[1]).toMatchObject({ operation: "submit", key: "k1", run: "r1", pid: process.pid });
  expect(readHistory(path).events[3]).toMatchObject({ key: "k2", error: "Error: reset" });
});

it("records a handler's start and end, also when it throws", async () => {
  using history = new History(path);
  expect(await history.handler({ run: "r", node: "n", epoch: 2 }, () => 7)).toBe(7);
  const failing = history.handler({ run: "r", node: "n" }, () => Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  expect(readHistory(path).events).toMatchObject([
    { type: "start", node: "n", epoch: 2 },
    { type: "end", threw: false },
    { type: "start", epoch: null },
    { type: "end", threw: true },
  ]);
});
