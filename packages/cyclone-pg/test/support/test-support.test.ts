import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { eventually } from "./eventually.ts";
import { spawnFixture } from "./process.ts";
import { createTestDatabase, useTestDatabase } from "./test-database.ts";
import { unexpectedDeadlocks } from "./unexpected-deadlocks.ts";

describe("a test database", () => {
  const database = useTestDatabase();

  test("is a migrated clone of the template", async () => {
    const { rows } = await database.query("select current_database() as name, to_regclass('cyclone_steps') as steps");
    expect(rows[0]).toEqual({ name: database.name, steps: "cyclone_steps" });
    expect(database.name).not.toBe(inject("postgres").template.name);
  });

  test("is dropped although somebody is connected", async () => {
    const other = await createTestDatabase();
    const held = await other.pool.connect();
    held.on("error", () => {});
    held.release();
    await other.drop();
    const { rowCount } = await database.query("select from pg_database where datname = $1", [other.name]);
    expect(rowCount).toBe(0);
  });
});

describe("a fixture process", () => {
  test("is read line by line, spoken to, and reports how it ended", async () => {
    const fixture = spawnFixture(
      writeFixture(
        'process.stdin.once("data", (d) => { console.log("got " + d); process.exit(3) }); console.log("up")',
      ),
    );
    await fixture.waitForLine(/^up$/);
    fixture.send("hello");
    expect(await fixture.waitForLine(/^got/)).toBe("got hello");
    expect(await fixture.ended).toEqual({ status: 3, signal: null });
  });

  test("is killed by a signal", async () => {
    const fixture = spawnFixture(writeFixture('setInterval(() => {}, 1000); console.log("up")'));
    await fixture.waitForLine(/up/);
    await fixture.kill("SIGKILL");
    expect(await fixture.ended).toEqual({ status: null, signal: "SIGKILL" });
  });

  test("that ends without the awaited line shows what it said", async () => {
    const fixture = spawnFixture(writeFixture('console.log("one"); throw new Error("boom")'));
    await expect(fixture.waitForLine(/two/)).rejects.toThrow(/before the process ended[^]*one[^]*boom/);
  });
});

describe("eventually", () => {
  test("gives the value of the first try that doesn't throw", async () => {
    let calls = 0;
    expect(
      await eventually(() => {
        calls++;
        if (calls < 3) throw new Error("not yet");
        return calls;
      }),
    ).toBe(3);
  });

  test("throws the last failure at the deadline", async () => {
    await expect(eventually(() => Promise.reject(new Error("never")), 50)).rejects.toThrow("never");
  });
});

test("a deadlock in the server's log counts unless its session staged it", () => {
  const real = "2026-01-01 [7] app=cyclone db=x ERROR:  deadlock detected";
  const staged = "2026-01-01 [8] app=staged-deadlock-1 db=x ERROR:  deadlock detected";
  expect(unexpectedDeadlocks([staged, real, "quiet"].join("\n"))).toEqual([real]);
});

function writeFixture(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-fixture-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "fixture.mjs");
  writeFileSync(file, source);
  return file;
}
