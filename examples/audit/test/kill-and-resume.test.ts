import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countRows } from "./support/count-rows.ts";
import { PackageFolder } from "./support/package-folder.ts";
import { Program } from "./support/program.ts";

const PACKAGES = 150;

describe("the audit program, killed half-way", { timeout: 120_000 }, () => {
  let folder: PackageFolder;
  let dataDir: string;
  const start = (...args: string[]) => new Program(["--once", "--data", dataDir, ...args, folder.path]);
  const runIdOf = (said: string) => / run ([0-9a-f-]{36})/.exec(said)?.[1];
  const resumed = (said: string) => Number(/^» Resuming run \S+: (\d+) of 150 packages done/m.exec(said)?.[1]);

  beforeAll(() => {
    folder = new PackageFolder();
    for (let index = 0; index < PACKAGES; index++) {
      folder.package(`node_modules/p${index}`, { license: index % 3 === 0 ? "MIT" : "ISC" });
    }
    dataDir = mkdtempSync(join(tmpdir(), "cyclone-audit-data-"));
  });
  afterAll(() => {
    folder[Symbol.dispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("goes on where it was when started again: no package is missing or doubled", async () => {
    await using first = start("--slow", "100", "--concurrency", "4");
    await first.untilSaid(/\b([3-9]\d) of 150 packages done/);
    await first.kill("SIGKILL");

    await using second = start();
    expect(await second.exited(), second.said).toBe(0);
    expect(runIdOf(second.said)).toBe(runIdOf(first.said));
    expect(resumed(second.said)).toBeGreaterThanOrEqual(30);
    expect(resumed(second.said)).toBeLessThan(PACKAGES);
    expect(second.said).toMatch(/^ISC +100 /m);
    expect(second.said).toMatch(/^MIT +50 /m);
    expect(second.said).toContain("150 rows, each package once");
    expect(await countRows(dataDir)).toEqual([{ runId: runIdOf(first.said), rows: PACKAGES, paths: PACKAGES }]);
  });

  test("finishes what is in hand at Ctrl-C, and leaves the rest to the next start", async () => {
    await using first = start("--slow", "100", "--concurrency", "4");
    await first.untilSaid(/\b([3-9]\d) of 150 packages done/);
    expect(await first.kill("SIGINT"), first.said).toBe(130);
    expect(first.said).toContain("Stopped in the middle.");

    await using second = start();
    expect(await second.exited(), second.said).toBe(0);
    expect(resumed(second.said)).toBeGreaterThanOrEqual(30);
    expect((await countRows(dataDir)).at(-1)).toEqual({ runId: runIdOf(first.said), rows: PACKAGES, paths: PACKAGES });
  });

  test("two programs on one data folder share its Postgres and its run", async () => {
    await using first = start("--slow", "50", "--concurrency", "4");
    await first.untilSaid(/ packages done/);
    await using second = start("--slow", "50", "--concurrency", "4");
    expect(await Promise.all([first.exited(), second.exited()]), `${first.said}\n${second.said}`).toEqual([0, 0]);
    expect(runIdOf(second.said)).toBe(runIdOf(first.said));
    expect((await countRows(dataDir)).at(-1)).toEqual({ runId: runIdOf(first.said), rows: PACKAGES, paths: PACKAGES });
  });
});
