import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { NODE_BUNDLE } from "../support/node-bundle.ts";
import { spawnFixture } from "../support/process.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

/** The first whole program of a page: it makes a client, and stops it. */
function programOf(page: string): string {
  const blocks = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, block = ""]) => block);
  const program = blocks.find((block) => block.includes("createClient") && block.includes("client.stop()"));
  if (program === undefined) throw new Error("the page has no whole program");
  return program;
}

/** Runs a program as it stands in a page, against the test's database; gives the lines that it printed. */
async function run(program: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "example.mjs");
  const stdin = { contents: program, loader: "ts", resolveDir: fileURLToPath(new URL(".", import.meta.url)) } as const;
  const alias = { "cyclone-pg": fileURLToPath(new URL("../../src/index.ts", import.meta.url)) };
  await build({ ...NODE_BUNDLE, stdin, outfile, alias });
  const running = spawnFixture(outfile, [], { DATABASE_URL: database.url });
  expect(await running.ended, running.errorOutput).toEqual({ status: 0, signal: null });
  return running.lines;
}

it("the README's example runs as it stands, with the table that it names", async () => {
  const page = read("README.md");
  const table = /`(create table pages [^`]+)`/.exec(page)?.[1] ?? "";
  await database.query(table);
  const server = createServer((_request, response) => response.end("<p>hello</p>")).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  // No test asks the network.
  const lines = await run(programOf(page).replaceAll("https://example.com", `http://127.0.0.1:${port}`));
  expect(lines).toEqual(["{ id: '1', bytes: 12 }"]);
  expect((await database.query("select bytes from pages")).rows).toEqual([{ bytes: 12 }]);
});

it("the package's own page has an example that runs", async () => {
  expect(await run(programOf(read("packages/cyclone-pg/README.md")))).toEqual(["12"]);
});
