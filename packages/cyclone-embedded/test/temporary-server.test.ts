import { existsSync, readFileSync } from "node:fs";
import { startEmbeddedPostgres } from "cyclone-embedded";
import { expect, test } from "vitest";
import { query } from "./support/query.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

test("a server without a data folder takes connections and leaves nothing behind", async () => {
  const progress: string[] = [];
  const server = await startEmbeddedPostgres({ onProgress: (message) => progress.push(message) });
  expect(server.url).toBe(`postgres://postgres@127.0.0.1:${server.port}/postgres`);
  expect(server.kept).toBe(false);
  expect(progress).toEqual([expect.stringMatching(/creating/), expect.stringMatching(/starting Postgres 18/)]);
  const [row] = await query(server.url, "select current_setting('fsync') as fsync, current_user as name");
  expect(row).toEqual({ fsync: "off", name: "postgres" });
  expect(readFileSync(server.logFile, "utf8")).toContain("ready to accept connections");

  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  expect(existsSync(server.dataDir)).toBe(false);
  await expect(query(server.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
});

test("settings reach the server, and the server listens on the loopback address alone", async () => {
  await using server = await startEmbeddedPostgres({
    settings: { max_connections: "37", "cyclone.colour": "it's red" },
  });
  const [row] = await query(
    server.url,
    `select current_setting('max_connections') as connections, current_setting('cyclone.colour') as colour,
            current_setting('listen_addresses') as addresses`,
  );
  expect(row).toEqual({ connections: "37", colour: "it's red", addresses: "127.0.0.1" });
});

test("two servers at once don't meet", async () => {
  const servers = await Promise.all([startEmbeddedPostgres(), startEmbeddedPostgres()]);
  try {
    const [first, second] = servers;
    expect(first.port).not.toBe(second.port);
    expect(first.dataDir).not.toBe(second.dataDir);
    await query(first.url, "create table mine (id int)");
    expect(await query(second.url, "select to_regclass('mine') as found")).toEqual([{ found: null }]);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
});

test("a temporary folder with a space in its path will do", async () => {
  const folder = temporaryFolder(0o777);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  try {
    await using server = await startEmbeddedPostgres();
    expect(server.dataDir.startsWith(folder)).toBe(true);
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
});

test("the environment's own Postgres variables don't lead it astray", async () => {
  process.env["PGDATA"] = "/nowhere";
  process.env["PGPORT"] = "1";
  try {
    await using server = await startEmbeddedPostgres();
    expect(server.port).not.toBe(1);
  } finally {
    delete process.env["PGDATA"];
    delete process.env["PGPORT"];
  }
});
