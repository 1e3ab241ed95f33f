import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { NODE_BUNDLE } from "./node-bundle.ts";

/** How a program gets the library: from the package's build beside it, or inside one file. */
export type Packaging = "build" | "esm bundle" | "cjs bundle";

/** A program ready to run. */
export interface PackagedProgram {
  readonly path: string;
  /** Empty but for a bundle; with no `node_modules` in it or above it. */
  readonly cwd: string;
}

/**
 * Makes a JavaScript program that imports `cyclone-pg` ready to run, as an application would be: from the package's build, or
 * bundled into a single file that lies alone in a folder. Removed when the test ends.
 */
export async function packageProgram(file: string, packaging: Packaging): Promise<PackagedProgram> {
  const cwd = mkdtempSync(join(tmpdir(), "cyclone-bundle-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  if (packaging === "build") return { path: file, cwd };
  const isCommonJs = packaging === "cjs bundle";
  const path = join(cwd, `${basename(file, ".mjs")}.${isCommonJs ? "cjs" : "mjs"}`);
  const { metafile, warnings } = await build({
    entryPoints: [file],
    outfile: path,
    ...NODE_BUNDLE,
    ...(isCommonJs ? ({ format: "cjs", banner: {} } as const) : {}),
    metafile: true,
  });
  if (warnings.length > 0) throw new Error(`The bundler warns: ${warnings.map(({ text }) => text).join("; ")}`);
  const files = Object.keys(metafile.outputs);
  if (files.length !== 1) throw new Error(`The bundle has ${files.length} files: ${files.join(", ")}`);
  return { path, cwd };
}
