import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

const LICENCE_FILE = /^(licen[cs]e|copying|copyright|unlicen[cs]e)([-._].*)?$/i;
const PROGRAM_TEXT = /\.(c?js|mjs|ts|json|map)$/i;
const TEXT_CHARACTERS_MAX = 200_000;

/** The names of a package's licence files (LICENSE, LICENCE.md, COPYING, LICENSE-MIT …), in order. */
export async function licenceFiles(packageFolder: string): Promise<string[]> {
  const entries = await readdir(packageFolder, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && LICENCE_FILE.test(entry.name) && !PROGRAM_TEXT.test(entry.name))
    .map((entry) => entry.name)
    .toSorted();
}

/**
 * The beginning of a licence file's text. Only the file's name is taken, so that a manifest can't point out of its package.
 *
 * @returns undefined if it can't be read
 */
export async function readLicenceFile(packageFolder: string, name: string): Promise<string | undefined> {
  try {
    return (await readFile(join(packageFolder, basename(name)), "utf8")).slice(0, TEXT_CHARACTERS_MAX);
  } catch {
    return undefined;
  }
}
