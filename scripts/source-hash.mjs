import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { buildableWorkspaces, ROOT } from "./workspaces.mjs";

/** One hash over all that a build reads: sources, compiler settings and the build's own scripts. */
export function sourceHash() {
  const hash = createHash("sha256");
  const single = [
    "tsconfig.base.json",
    "package-lock.json",
    "scripts/build.mjs",
    "scripts/generate-renewal-thread.mjs",
  ];
  for (const file of single) addFile(hash, join(ROOT, file));
  for (const { folder } of buildableWorkspaces()) {
    addFile(hash, join(folder, "package.json"));
    addFile(hash, join(folder, "tsconfig.build.json"));
    for (const file of filesUnder(join(folder, "src"))) addFile(hash, file);
  }
  return hash.digest("hex");
}

/**
 * @param {import("node:crypto").Hash} hash
 * @param {string} file
 */
function addFile(hash, file) {
  if (!existsSync(file)) return;
  hash
    .update(`${relative(ROOT, file)}\0`)
    .update(readFileSync(file))
    .update("\0");
}

/**
 * The source files below a folder, in a stable order; tests and generated files left out.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(test|test-d|generated)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
