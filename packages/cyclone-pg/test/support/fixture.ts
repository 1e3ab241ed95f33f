import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";
import { NODE_BUNDLE } from "./node-bundle.ts";

/**
 * A TypeScript file as a program that Node.js can run in a process of its own: bundled with all that it imports, before
 * the suite's first test, and removed after its last.
 *
 * @param file an absolute path
 */
export function useFixture(file: string): { readonly path: string } {
  let folder: string | undefined;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "cyclone-fixture-"));
    await build({
      entryPoints: [file],
      outfile: join(folder, "fixture.mjs"),
      sourcemap: "inline",
      ...NODE_BUNDLE,
    });
  });
  afterAll(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  return {
    get path() {
      if (folder === undefined) throw new Error("The fixture exists only while the tests of its suite run.");
      return join(folder, "fixture.mjs");
    },
  };
}
