import { createHash, randomFillSync } from "node:crypto";
import type { RunKind } from "./states.ts";

/** The last 14 bits of a run's id; the bucket, and so the shard, follows from it. */
const SLOT_MASK = 0x3fff;
const COUNTER_BITS = 26;
const RANDOM_BYTES = 4096;
const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const pool = new Uint8Array(RANDOM_BYTES);
let poolUsed = RANDOM_BYTES;
let lastMs = 0;
let counter = 0;

/**
 * A new run's id: a UUIDv7 whose last 14 bits are the slot. Ids of one process grow, also within a millisecond and when
 * the clock steps back; between processes they are ordered only as well as the clocks are. Nothing orders by them.
 * Layout: 48 bits of milliseconds, a 26-bit counter (random at the start of each millisecond), 34 random bits, 14 of slot.
 * @param slot 0 to 16383. @default random
 */
export function newRunId(slot?: number): string {
  if (poolUsed + 10 > RANDOM_BYTES) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const at = poolUsed;
  poolUsed += 10;
  advance(Date.now(), at);
  const tail =
    slot === undefined ? (byte(at + 8) << 8) | byte(at + 9) : (slot & SLOT_MASK) | ((byte(at + 8) & 0xc0) << 8);
  const highMs = Math.floor(lastMs / 0x10000);
  const lowMs = lastMs % 0x10000;
  return (
    hex(highMs >>> 24) +
    hex(highMs >>> 16) +
    hex(highMs >>> 8) +
    hex(highMs) +
    "-" +
    hex(lowMs >>> 8) +
    hex(lowMs) +
    "-" +
    hex(0x70 | (counter >>> 22)) +
    hex(counter >>> 14) +
    "-" +
    hex(0x80 | ((counter >>> 8) & 0x3f)) +
    hex(counter) +
    "-" +
    hex(byte(at + 4)) +
    hex(byte(at + 5)) +
    hex(byte(at + 6)) +
    hex(byte(at + 7)) +
    hex(tail >>> 8) +
    hex(tail)
  );
}

/** The slot that a run's id carries. */
export function slotOf(runId: string): number {
  return Number.parseInt(runId.slice(-4), 16) & SLOT_MASK;
}

/** The bucket of a run: everything of one run is in one bucket. */
export function bucketOf(runId: string, bucketCount: number): number {
  return slotOf(runId) % bucketCount;
}

/**
 * The slot of a run that is started with an idempotency key, so that all starts with one key meet in one bucket. It must
 * be the same in every version and language: the first 16 bits of SHA-256 over `kind`, `name` and `key`, joined by U+0000.
 */
export function slotOfKey(kind: RunKind, name: string, key: string): number {
  return createHash("sha256").update(`${kind}\0${name}\0${key}`).digest().readUInt16BE(0) & SLOT_MASK;
}

/** Whether the text has the form of a UUID, as each run's id has; whether such a run exists only the database knows. */
export function isRunId(text: unknown): text is string {
  return typeof text === "string" && UUID_FORM.test(text);
}

function advance(nowMs: number, at: number): void {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // The top bit stays clear: room for 33 million ids before the millisecond is used up.
    counter = ((byte(at) << 17) | (byte(at + 1) << 9) | (byte(at + 2) << 1) | (byte(at + 3) & 1)) & 0x1ffffff;
    return;
  }
  counter += 1;
  if (counter >>> COUNTER_BITS !== 0) {
    lastMs += 1;
    counter = 0;
  }
}

function byte(index: number): number {
  return pool[index] ?? 0;
}

function hex(value: number): string {
  return HEX[value & 0xff] ?? "00";
}
