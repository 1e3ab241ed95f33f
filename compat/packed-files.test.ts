import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { describe, expect, inject, it } from "vitest";
import { NODE_BUNDLE } from "../packages/cyclone-pg/test/support/node-bundle.ts";

const { tarball, installed } = inject("packed");
const folder = join(installed, "node_modules/cyclone-pg");
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

/** A tenth above what they were when they were last looked at: growth is decided, not noticed. */
const LIMITS_BYTES = { tarball: 590_000, everything: 405_000, contracts: 24_500 };

describe("the packed package", () => {
  it("holds the build with its sources, and no test", () => {
    expect([...new Set(readdirSync(folder))].sort()).toEqual(["LICENSE", "README.md", "dist", "package.json", "src"]);
    expect(files.filter((file) => /\.test\.|tsbuildinfo/.test(file))).toEqual([]);
  });

  it("has each source that its maps name, so that debuggers and editors lead there", () => {
    const maps = files.filter((file) => file.endsWith(".map"));
    expect(maps.length).toBeGreaterThan(400);
    expect(maps.flatMap(missingSources)).toEqual([]);
  });

  it("is no larger than its limit, packed", () => {
    expect(statSync(tarball).size).toBeLessThan(LIMITS_BYTES.tarball);
  });

  it("adds no more than its limit to a bundle: everything with the driver, and contracts alone", async () => {
    expect(await bundledBytes('export * from "cyclone-pg"')).toBeLessThan(LIMITS_BYTES.everything);
    const contracts = 'export { defineAction, defineStep, defineWorkflow } from "cyclone-pg"';
    expect(await bundledBytes(contracts)).toBeLessThan(LIMITS_BYTES.contracts);
  });
});

function missingSources(map: string): string[] {
  const { sources } = JSON.parse(readFileSync(map, "utf8")) as { sources: string[] };
  return sources.map((source) => join(dirname(map), source)).filter((source) => !existsSync(source));
}

async function bundledBytes(contents: string): Promise<number> {
  const { outputFiles } = await build({
    ...NODE_BUNDLE,
    stdin: { contents, resolveDir: installed },
    minify: true,
    write: false,
  });
  return outputFiles[0]?.contents.length ?? 0;
}
