import { existsSync, lstatSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";

interface LibraryLink {
  /** The real library, relative to the package. */
  readonly source: string;
  /** The name under which the programs look for it, relative to the package. */
  readonly target: string;
}

/**
 * Makes the symbolic links between the shared libraries that an npm package can't hold. The platform package makes
 * them in its install script, which doesn't run under `--ignore-scripts`.
 *
 * @param native the platform package's `native` folder, or a copy of it
 * @throws the file system's error where the folder can't be written
 */
export function linkLibraries(native: string): void {
  for (const { source, target } of missingLinks(native)) {
    const path = join(native, "..", target);
    try {
      symlinkSync(relative(dirname(path), join(native, "..", source)), path);
    } catch (error) {
      // Another process that starts at the same time may have made it.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function missingLinks(native: string): LibraryLink[] {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, "utf8")) as LibraryLink[];
  return links.filter(({ target }) => !isThere(join(native, "..", target)));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
