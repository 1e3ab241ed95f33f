import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** What is installed in a folder. */
export interface Listing {
  /** Each installed package's real folder relative to the audited one, with `/`, in order; a path is there once. */
  readonly packages: readonly string[];
  /** Folders that couldn't be looked into, with the reason. */
  readonly unreadable: readonly string[];
}

/**
 * Lists the packages installed under `folder`: the folders with a package.json that stand directly in a `node_modules` folder
 * or in a scope of one, at any depth. A package that is linked from elsewhere (a workspace, `npm link`, a pnpm store) counts
 * once, under its real path; the folder itself doesn't count. A package.json deeper inside a package is part of that package, not an installation.
 *
 * Reads synchronously: a few thousand folders take a fraction of a second, and nothing else is going on meanwhile.
 */
export function listPackages(folder: string): Listing {
  const root = realpathSync(folder);
  const walk: Walk = { visited: new Set(), packages: new Set(), unreadable: [] };
  walkNodeModules(join(root, "node_modules"), walk);
  walk.packages.delete(root);
  return {
    packages: [...walk.packages].map((path) => toSlashes(relative(root, path))).toSorted(byCodeUnit),
    unreadable: walk.unreadable,
  };
}

interface Walk {
  /** Real paths of the folders that have been looked into, so that a loop of links ends. */
  readonly visited: Set<string>;
  /** Real paths of the packages found. */
  readonly packages: Set<string>;
  readonly unreadable: string[];
}

function walkNodeModules(folder: string, walk: Walk): void {
  for (const entry of readFolder(folder, walk)) {
    const path = join(folder, entry.name);
    if (entry.name === ".pnpm") walkStore(path, walk);
    if (entry.name.startsWith(".")) continue;
    if (!isFolder(entry, path)) continue;
    if (entry.name.startsWith("@")) {
      for (const scoped of readFolder(path, walk)) {
        const scopedPath = join(path, scoped.name);
        if (!scoped.name.startsWith(".") && isFolder(scoped, scopedPath)) walkPackage(scopedPath, walk);
      }
    } else {
      walkPackage(path, walk);
    }
  }
}

function walkPackage(path: string, walk: Walk): void {
  const real = realpathSync(path);
  if (existsSync(join(real, "package.json"))) walk.packages.add(real);
  walkNodeModules(join(real, "node_modules"), walk);
}

/** pnpm's store holds each package's real folder under `<name@version>/node_modules/`, beside links to what it needs. */
function walkStore(store: string, walk: Walk): void {
  for (const entry of readFolder(store, walk)) {
    walkNodeModules(join(store, entry.name, "node_modules"), walk);
  }
}

/** A folder's entries; none if it isn't there, isn't a folder, or was looked into before. */
function readFolder(folder: string, walk: Walk): Dirent[] {
  try {
    const real = realpathSync(folder);
    if (walk.visited.has(real)) return [];
    walk.visited.add(real);
    return readdirSync(real, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") walk.unreadable.push(`${folder}: ${code ?? String(error)}`);
    return [];
  }
}

/** Follows a link; one that leads nowhere isn't a folder. */
function isFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function toSlashes(path: string): string {
  return sep === "/" ? path : path.split(sep).join("/");
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
