import type { Manifest } from "../scan/read-manifest.ts";
import { readableText } from "../scan/readable-text.ts";
import { isCopyleft } from "./copyleft.ts";
import { declaredLicence } from "./declared-licence.ts";
import { formatLicence, parseLicence } from "./licence-expression.ts";
import { licenceFiles, readLicenceFile } from "./licence-files.ts";
import { recogniseLicence } from "./licence-text.ts";

/** The licence of one package, and how it was found. */
export interface LicenceFinding {
  /** A normalised SPDX expression; else the words of the manifest; null if nothing says a licence. */
  readonly licence: string | null;
  /** Where it was found: what the manifest says counts before the licence files. */
  readonly source: "manifest" | "file" | "none";
  readonly copyleft: boolean;
  /** The package's licence files. */
  readonly files: readonly string[];
}

/** Finds a package's licence from its manifest (null: unreadable) and its licence files. */
export async function findLicence(packageFolder: string, manifest: Manifest | null): Promise<LicenceFinding> {
  const files = await licenceFiles(packageFolder);
  const declared = declaredLicence(manifest?.license, manifest?.licenses);
  if (declared.kind === "texts") return { ...fromManifest(declared.texts), files };
  const recognised = await recogniseFiles(packageFolder, declared.kind === "file" ? [declared.file] : files);
  if (recognised !== undefined) return { ...fromFile(recognised), files };
  if (declared.kind === "file") return { ...inOwnWords(`SEE LICENSE IN ${declared.file}`), files };
  const [unknown] = files;
  if (unknown !== undefined) return { licence: `see ${unknown}`, source: "file", copyleft: false, files };
  return { licence: null, source: "none", copyleft: false, files };
}

type Found = Omit<LicenceFinding, "files">;

function fromManifest(texts: readonly string[]): Found {
  const parts = texts.map(parseLicence).filter((part) => part !== undefined);
  if (parts.length < texts.length) return inOwnWords(texts.join(" or "));
  const expression = parts.length === 1 && parts[0] ? parts[0] : ({ kind: "or", parts } as const);
  const licence = formatLicence(expression);
  // npm's word for "nobody is given a licence".
  if (licence === "UNLICENSED") return { licence: null, source: "manifest", copyleft: false };
  return { licence: readableText(licence), source: "manifest", copyleft: isCopyleft(expression) };
}

/** What isn't an expression is shown as it is written, and suspected of copyleft if it has a word of the kind. */
function inOwnWords(text: string): Found {
  const copyleft = /\b([al]?gpl|mpl|epl|cddl|eupl|gnu|copyleft)/i.test(text);
  return { licence: readableText(text), source: "manifest", copyleft };
}

function fromFile(id: string): Found {
  return { licence: id, source: "file", copyleft: isCopyleft({ kind: "licence", id, exception: null }) };
}

/** The first licence that one of the files is or names. */
async function recogniseFiles(packageFolder: string, files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const text = await readLicenceFile(packageFolder, file);
    const recognised = text === undefined ? undefined : recogniseLicence(text);
    if (recognised !== undefined) return recognised;
  }
  return undefined;
}
