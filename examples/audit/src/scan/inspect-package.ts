import { basename, join } from "node:path";
import { findLicence, type LicenceFinding } from "../licences/find-licence.ts";
import { measurePackage, type PackageSize } from "./measure-package.ts";
import { readManifest } from "./read-manifest.ts";
import { readableText } from "./readable-text.ts";

/** What an audit knows of one package: a row of its table. */
export interface PackageFacts {
  /** Relative to the audited folder. This identifies it: the same name and version at two places are two packages. */
  readonly path: string;
  readonly name: string;
  readonly version: string | null;
  readonly licence: string | null;
  readonly licenceSource: LicenceFinding["source"];
  readonly licenceFiles: readonly string[];
  readonly copyleft: boolean;
  readonly files: number;
  readonly bytes: number;
  /** What was wrong with it, for the report; null if nothing was. */
  readonly problem: string | null;
}

const NO_LICENCE: LicenceFinding = { licence: null, source: "none", copyleft: false, files: [] };
const NO_SIZE: PackageSize = { files: 0, bytes: 0 };

/**
 * Reads one package: manifest, licence files, size. A package that is broken, or was removed since it was listed, is a
 * finding with a `problem`, not an error: the audit is about what is there.
 */
export async function inspectPackage(folder: string, path: string): Promise<PackageFacts> {
  const packageFolder = join(folder, path);
  const { manifest, problem } = await readManifest(packageFolder);
  const problems = problem === null ? [] : [problem];
  if (manifest !== null && manifest.name === null) problems.push("package.json has no name");
  if (manifest !== null && manifest.version === null) problems.push("package.json has no version");
  const found = await orProblem(findLicence(packageFolder, manifest), NO_LICENCE, problems);
  const size = await orProblem(measurePackage(packageFolder), NO_SIZE, problems);
  return {
    path,
    name: manifest?.name ?? readableText(nameOfPath(path)) ?? path,
    version: manifest?.version ?? null,
    licence: found.licence,
    licenceSource: found.source,
    licenceFiles: found.files,
    copyleft: found.copyleft,
    files: size.files,
    bytes: size.bytes,
    problem: problems.length === 0 ? null : [...new Set(problems)].join("; "),
  };
}

async function orProblem<T>(reading: Promise<T>, otherwise: T, problems: string[]): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    problems.push(code === "ENOENT" ? "the folder is gone" : `the folder can't be read (${code})`);
    return otherwise;
  }
}

/** `node_modules/@scope/name` → `@scope/name`: what a manifest would say. */
function nameOfPath(path: string): string {
  return /(?:^|\/)((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? basename(path);
}
