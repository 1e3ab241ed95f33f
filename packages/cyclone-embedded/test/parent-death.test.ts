import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../cyclone-pg/test/support/eventually.ts";
import { guardiansOf, serverOf, spawnProgram } from "./support/program.ts";
import { query } from "./support/query.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const GONE_WITHIN_MS = 20_000;

test("SIGKILL of the program stops a temporary server and removes its folder", async () => {
  const program = spawnProgram({});
  const server = await serverOf(program);
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);

  await program.kill("SIGKILL");
  await eventually(() => expect(existsSync(server.dataDir)).toBe(false), GONE_WITHIN_MS);
  await expect(query(server.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
});

test("SIGKILL while the cluster is being created leaves no folder", async () => {
  const tmp = join(temporaryFolder(), "tmp");
  mkdirSync(tmp, { mode: 0o777 });
  const program = spawnProgram({}, { env: { TMPDIR: tmp } });
  await program.waitForLine(/creating/);
  expect(readdirSync(tmp)).toHaveLength(1);

  await program.kill("SIGKILL");
  await eventually(() => expect(readdirSync(tmp)).toEqual([]), GONE_WITHIN_MS);
});

test("a program that ends without stopping isn't kept alive, and its server goes", async () => {
  const program = spawnProgram({});
  const server = await serverOf(program);
  program.send("exit");
  expect(await program.ended).toEqual({ status: 0, signal: null });
  await eventually(() => expect(existsSync(server.dataDir)).toBe(false), GONE_WITHIN_MS);
});

test.runIf(process.platform === "linux")("stop() cleans up also after the guardian was killed", async () => {
  const program = spawnProgram({});
  const server = await serverOf(program);
  for (const pid of guardiansOf(program.pid)) process.kill(pid, "SIGKILL");
  await eventually(() => expect(guardiansOf(program.pid)).toEqual([]));
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);

  program.send("stop");
  await program.waitForLine(/"stopped"/);
  expect(existsSync(server.dataDir)).toBe(false);
  await expect(query(server.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
});
