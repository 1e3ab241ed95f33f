import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** How much a package takes. */
export interface PackageSize {
  readonly files: number;
  /** The files' lengths added up, not the blocks that they take on a disk. */
  readonly bytes: number;
}

/**
 * Adds up a package's own files. Its nested `node_modules` is left out, for what is in it is listed by itself: so each file
 * counts for one package. Links aren't followed. A file that vanishes meanwhile counts nothing.
 */
export async function measurePackage(packageFolder: string): Promise<PackageSize> {
  let files = 0;
  let bytes = 0;
  const folders = [packageFolder];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const sizes: Promise<number | undefined>[] = [];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" || folder !== packageFolder) folders.push(path);
      } else if (entry.isFile()) {
        sizes.push(sizeOf(path));
      }
    }
    for (const size of await Promise.all(sizes)) {
      if (size === undefined) continue;
      files += 1;
      bytes += size;
    }
  }
  return { files, bytes };
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
