import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { NODE_BUNDLE } from "../support/node-bundle.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * The programs of a page, bundled with the library's sources, until the test ends.
 *
 * @param page its folder below `fixtures`
 * @returns the path of a program
 */
export async function pagePrograms(page: string, names: readonly string[]): Promise<(name: string) => string> {
  const outdir = mkdtempSync(join(tmpdir(), "cyclone-page-"));
  onTestFinished(() => rmSync(outdir, { recursive: true, force: true }));
  await build({
    ...NODE_BUNDLE,
    entryPoints: names.map((name) => here(`./fixtures/${page}/${name}.ts`)),
    outdir,
    outExtension: { ".js": ".mjs" },
    alias: { "cyclone-pg": here("../../src/index.ts") },
  });
  return (name) => join(outdir, `${name}.mjs`);
}
