import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readableText } from "./readable-text.ts";

/** The parts of a package.json that an audit looks at. A part that isn't what it should be counts as absent. */
export interface Manifest {
  readonly name: string | null;
  readonly version: string | null;
  /** The fields that say under which licence the package is, as they stand there. */
  readonly license: unknown;
  readonly licenses: unknown;
}

/** The manifest, or what keeps it from being read. */
export type ManifestReading =
  | { readonly manifest: Manifest; readonly problem: null }
  | { readonly manifest: null; readonly problem: string };

/** Reads a package's manifest. Never throws: an audit reports a broken manifest, and goes on. */
export async function readManifest(packageFolder: string): Promise<ManifestReading> {
  let text: string;
  try {
    text = await readFile(join(packageFolder, "package.json"), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      manifest: null,
      problem: code === "ENOENT" ? "package.json is gone" : `package.json can't be read (${code ?? String(error)})`,
    };
  }
  return parseManifest(text);
}

/** The same, from the file's text. */
export function parseManifest(text: string): ManifestReading {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return { manifest: null, problem: "package.json isn't JSON" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { manifest: null, problem: "package.json isn't an object" };
  }
  const fields = value as Record<string, unknown>;
  return {
    manifest: {
      name: readableText(fields["name"]),
      version: readableText(fields["version"]),
      license: fields["license"] ?? fields["licence"],
      licenses: fields["licenses"],
    },
    problem: null,
  };
}
