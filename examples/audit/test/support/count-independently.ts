import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Counts the installed packages in another way than the audit does: every package.json below the folder, however deep, is looked
 * at from its own side. It counts if the folders above it alternate as installers make them: `node_modules/[@scope/]name`, again and again.
 *
 * @returns real paths, each once
 */
export function countIndependently(folder: string): Set<string> {
  const found = new Set<string>();
  const starts = [folder];
  const entered = new Set<string>();
  for (let start = starts.pop(); start !== undefined; start = starts.pop()) {
    if (entered.has(start)) continue;
    entered.add(start);
    for (const file of readdirSync(start, { recursive: true, encoding: "utf8" })) {
      const path = join(start, file);
      const parts = file.split("/");
      if (basename(file) === "package.json" && isInstalled(parts.slice(0, -1)))
        found.add(realpathSync(join(path, "..")));
      if (isInstalled(parts) && lstatSync(path).isSymbolicLink()) {
        const target = realpathSync(path);
        if (readdirSync(target).includes("package.json")) found.add(target);
        starts.push(target);
      }
    }
  }
  found.delete(realpathSync(folder));
  return found;
}

/** True for `node_modules/a`, `node_modules/@s/a`, `node_modules/a/node_modules/b` and so on. */
function isInstalled(parts: readonly string[]): boolean {
  return /^(node_modules\/(@[^/]+\/)?[^/@.][^/]*\/)+$/.test(`${parts.join("/")}/`);
}
