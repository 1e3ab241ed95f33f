/** Builds the workspaces in the order of their dependencies: `node scripts/build.mjs [workspace name …]`, default all. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { generateRenewalThread } from "./generate-renewal-thread.mjs";
import { sourceHash } from "./source-hash.mjs";
import { stage } from "./stage.mjs";
import { buildableWorkspaces, ROOT } from "./workspaces.mjs";

const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const STAMP = join(ROOT, "node_modules/.cache/cyclone/built");

const only = process.argv.slice(2);
const hash = sourceHash();
const workspaces = buildableWorkspaces().filter(({ name }) => only.length === 0 || only.includes(name));

if (workspaces.some(({ name }) => name === "cyclone-pg")) await generateRenewalThread();
for (const workspace of workspaces) {
  await stage(`build ${workspace.name}`, () => build(workspace));
}
if (only.length === 0) {
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, hash);
}

/** @param {import("./workspaces.mjs").Workspace} workspace */
function build({ name, folder }) {
  const compiled = spawnSync(process.execPath, [TSC, "-p", "tsconfig.build.json", "--listEmittedFiles"], {
    cwd: folder,
    encoding: "utf8",
  });
  const lines = compiled.stdout.split("\n");
  if (compiled.status !== 0) {
    console.error(lines.filter((line) => !line.startsWith("TSFILE: ")).join("\n"), compiled.stderr);
    console.error(`The build of ${name} failed.`);
    process.exit(1);
  }
  const emitted = lines.filter((line) => line.startsWith("TSFILE: ")).map((line) => line.slice(8).trim());
  pruneDist(folder, new Set([...emitted.map((file) => relative(folder, file)), ...copySql(folder)]));
}

/**
 * Migrations are read beside the compiled migrator, so they travel into dist as they are.
 *
 * @param {string} folder
 * @returns {string[]} what was written, relative to the folder
 */
function copySql(folder) {
  const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" });
  return sources
    .filter((file) => file.endsWith(".sql"))
    .map((file) => {
      cpSync(join(folder, "src", file), join(folder, "dist", file));
      return join("dist", file);
    });
}

/**
 * Removes what an earlier build left and this one didn't write. The folder isn't emptied first, because another
 * process may be running from it.
 *
 * @param {string} folder
 * @param {Set<string>} written relative to the folder
 */
function pruneDist(folder, written) {
  const dist = join(folder, "dist");
  if (!existsSync(dist)) return;
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    if (!written.has(relative(folder, file))) rmSync(file);
  }
}
