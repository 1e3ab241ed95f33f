import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startEmbeddedPostgres } from "cyclone-embedded";
import { expect, test } from "vitest";
import { eventually } from "../../../cyclone-pg/test/support/eventually.ts";
import { guardiansOf, serverOf, spawnProgram } from "../support/program.ts";
import { query } from "../support/query.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const onLinux = test.runIf(process.platform === "linux");

test("data in a folder outlive the server, and are durable by default", async () => {
  const dataDir = join(temporaryFolder(), "kept data");
  const first = await startEmbeddedPostgres({ dataDir });
  expect(first.kept).toBe(false);
  await query(first.url, "create table notes as select current_setting('fsync') as fsync");
  await first.stop();
  expect(existsSync(join(dataDir, "pgdata", "postmaster.pid"))).toBe(false);

  await using second = await startEmbeddedPostgres({ dataDir });
  expect(second.kept).toBe(true);
  expect(second.dataDir).toBe(dataDir);
  expect(await query(second.url, "select * from notes")).toEqual([{ fsync: "on" }]);
});

test("after SIGKILL of the program the next start finds all that was committed", async () => {
  const dataDir = temporaryFolder();
  const program = spawnProgram({ dataDir });
  const before = await serverOf(program);
  await query(before.url, "create table notes as select 7 as id");
  await program.kill("SIGKILL");

  await using after = await startEmbeddedPostgres({ dataDir });
  expect(after.kept).toBe(true);
  expect(await query(after.url, "select id from notes")).toEqual([{ id: 7 }]);
});

onLinux(
  "a server whose program and guardian were both killed is joined, and stopped by the one who joined",
  async () => {
    const dataDir = temporaryFolder();
    const program = spawnProgram({ dataDir });
    const orphan = await serverOf(program);
    for (const pid of guardiansOf(program.pid)) process.kill(pid, "SIGKILL");
    await program.kill("SIGKILL");
    expect(await query(orphan.url, "select 1 as one")).toEqual([{ one: 1 }]);

    const progress: string[] = [];
    const joined = await startEmbeddedPostgres({ dataDir, onProgress: (message) => progress.push(message) });
    expect(joined.port).toBe(orphan.port);
    expect(progress).toEqual([expect.stringMatching(/joining/)]);
    await joined.stop();
    await expect(query(orphan.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
  },
);

onLinux("a server left behind on another port than the one asked for is replaced", async () => {
  const dataDir = temporaryFolder();
  const program = spawnProgram({ dataDir });
  const orphan = await serverOf(program);
  for (const pid of guardiansOf(program.pid)) process.kill(pid, "SIGKILL");
  await program.kill("SIGKILL");

  const port = orphan.port === 54_999 ? 54_998 : 54_999;
  await using server = await startEmbeddedPostgres({ dataDir, port });
  expect(server.port).toBe(port);
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("two programs share a folder's server; the last one stops it", async () => {
  const dataDir = temporaryFolder();
  const first = spawnProgram({ dataDir });
  const server = await serverOf(first);
  const second = await startEmbeddedPostgres({ dataDir });
  expect(second.port).toBe(server.port);
  const otherPort = server.port === 54_997 ? 54_996 : 54_997;
  await expect(startEmbeddedPostgres({ dataDir, port: otherPort })).rejects.toThrow(/Another program uses the data/);

  first.send("stop");
  await first.waitForLine(/"stopped"/);
  expect(await query(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await second.stop();
  await expect(query(second.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
});

test("two programs that start over one folder at the same time get one server", async () => {
  const dataDir = temporaryFolder();
  const programs = [spawnProgram({ dataDir }), spawnProgram({ dataDir })];
  const servers = await Promise.all(programs.map(serverOf));
  expect(servers[0]?.port).toBe(servers[1]?.port);
  expect(servers.filter(({ kept }) => kept)).toHaveLength(1);
});

onLinux("a postmaster.pid and a lock that were left behind are in nobody's way", async () => {
  const dataDir = temporaryFolder();
  const program = spawnProgram({ dataDir });
  const { port } = await serverOf(program);
  const pidFile = join(dataDir, "pgdata", "postmaster.pid");
  const postmaster = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  for (const pid of guardiansOf(program.pid)) process.kill(pid, "SIGKILL");
  await program.kill("SIGKILL");
  process.kill(postmaster, "SIGKILL");
  await eventually(() => expect(() => process.kill(postmaster, 0)).toThrow(/ESRCH/));
  expect(existsSync(pidFile)).toBe(true);
  // The number of a process that has ended, as its owner's.
  writeFileSync(join(dataDir, "lock"), String(program.pid));

  await using server = await startEmbeddedPostgres({ dataDir });
  expect(server.kept).toBe(true);
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(port).toBeGreaterThan(0);
});

test("data of another major version are refused by name", async () => {
  const dataDir = temporaryFolder();
  const first = await startEmbeddedPostgres({ dataDir });
  await first.stop();
  writeFileSync(join(dataDir, "pgdata", "PG_VERSION"), "9\n");
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(/made by Postgres 9, and this is Postgres 18/);
});
