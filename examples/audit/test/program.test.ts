import { type EmbeddedPostgres, startEmbeddedPostgres } from "cyclone-embedded";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PackageFolder } from "./support/package-folder.ts";
import { Program } from "./support/program.ts";

describe("the audit program", { timeout: 60_000 }, () => {
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    server = await startEmbeddedPostgres();
  });
  afterAll(() => server.stop());
  const start = (...args: string[]) => new Program(["--database", server.url, ...args]);

  test("reports what it finds, broken manifests too, and exits", async () => {
    using folder = new PackageFolder();
    folder
      .package("node_modules/free", { license: "MIT" })
      .package("node_modules/shared", { license: "MPL-2.0" })
      .package("node_modules/silent")
      .file("node_modules/broken/package.json", "{")
      .package("node_modules/free/node_modules/silent");
    await using program = start("--once", folder.path);
    expect(await program.exited(), program.said).toBe(0);
    expect(program.said).toMatch(/^Total +5 /m);
    expect(program.said).toMatch(
      /^Without a licence \(3\):\n {2}broken +node_modules\/broken\n {2}silent@1\.0\.0 +node_modules\/free\/node_modules\/silent\n/m,
    );
    expect(program.said).toMatch(/^Copyleft \(1\):\n {2}shared@1\.0\.0 +MPL-2\.0 +node_modules\/shared\n/m);
    expect(program.said).toMatch(/^Not as it should be \(1\):\n {2}broken +package\.json isn't JSON /m);
    expect(program.said).toContain("The totals agree.");
  });

  test("says so where nothing is installed", async () => {
    using folder = new PackageFolder();
    await using program = start("--once", folder.path);
    expect(await program.exited(), program.said).toBe(0);
    expect(program.said).toContain(`No packages are installed in ${folder.path}.`);
  });

  test("shows the first failures, and exits with 1 when the run fails", async () => {
    using folder = new PackageFolder();
    folder.package("node_modules/a");
    const database = new pg.Client(server.url);
    await database.connect();
    await database.query("alter table audit_packages add constraint nothing_goes check (false) not valid");
    try {
      await using program = start("--once", folder.path);
      expect(await program.exited(), program.said).toBe(1);
      expect(program.said).toContain("node_modules/a failed, and will be tried again: new row for relation");
      expect(program.said).toMatch(/^ {2}the run didn't complete: .*nothing_goes/m);
    } finally {
      await database.query("alter table audit_packages drop constraint nothing_goes");
      await database.end();
    }
  });

  test("audits again at Enter and after an installation, and stops at Ctrl-C", async () => {
    using folder = new PackageFolder();
    folder.package("node_modules/a", { license: "MIT" });
    await using program = start(folder.path);
    await program.untilSaid(/Press Enter/);
    program.type("");
    await program.untilSaid(/Press Enter[^]*Press Enter/);
    expect(program.said.match(/^Total +1 /gm)).toHaveLength(2);
    folder.package("node_modules/b", { license: "ISC" });
    await program.untilSaid(/Press Enter[^]*Press Enter[^]*Press Enter/);
    expect(program.said.match(/^Total +2 /gm)).toHaveLength(1);
    expect(await program.kill("SIGINT"), program.said).toBe(0);
  });
});

describe("the audit program, called wrongly", () => {
  test.each([
    [["--onse"], "audit: Unknown option '--onse'"],
    [["/nowhere/at/all"], "audit: there is no folder /nowhere/at/all"],
    [[process.execPath], `audit: ${process.execPath} isn't a folder`],
  ])("%j: a clear error, and exit code 2", async (args, message) => {
    await using program = new Program(args);
    expect(await program.exited()).toBe(2);
    expect(program.said).toBe(`${message}\nTry --help.\n`);
  });

  test("--help says how", async () => {
    await using program = new Program(["--help"]);
    expect(await program.exited()).toBe(0);
    expect(program.said).toContain("Usage: npm start -- [options] [folder]");
  });
});
