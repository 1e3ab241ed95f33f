import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * @typedef {object} Workspace
 * @property {string} name
 * @property {string} folder absolute
 * @property {string[]} dependencies names of other workspaces
 */

/**
 * The workspaces that have something to build, each after those that it depends on.
 *
 * @returns {Workspace[]}
 */
export function buildableWorkspaces() {
  const found = ["packages", "examples"].flatMap(readGroup);
  const byName = new Map(found.map((workspace) => [workspace.name, workspace]));
  /** @type {Workspace[]} */
  const ordered = [];
  const visited = new Set();
  /** @param {Workspace} workspace */
  const visit = (workspace) => {
    if (visited.has(workspace.name)) return;
    visited.add(workspace.name);
    for (const dependency of workspace.dependencies) {
      const other = byName.get(dependency);
      if (other) visit(other);
    }
    ordered.push(workspace);
  };
  for (const workspace of found) visit(workspace);
  return ordered;
}

/**
 * @param {string} group
 * @returns {Workspace[]}
 */
function readGroup(group) {
  const base = join(ROOT, group);
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .sort()
    .map((name) => join(base, name))
    .filter((folder) => existsSync(join(folder, "package.json")) && existsSync(join(folder, "tsconfig.build.json")))
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
      return { name: manifest.name, folder, dependencies };
    });
}
