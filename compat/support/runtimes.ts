import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const COMPAT = resolve(import.meta.dirname, "..");
const { arch } = process;

/** A JavaScript runtime that npm installed beside these tests. */
export interface Runtime {
  /** As it calls itself: `node 22.23.3`. */
  readonly version: string;
  /** The program and its arguments before a file. */
  readonly command: readonly [program: string, ...args: string[]];
}

/** The Node.js of a major version. */
export function nodeOf(major: number): Runtime {
  const folder = `node${major}-linux-${arch}`;
  return { version: `node ${versionOf(folder)}`, command: [programIn(folder, "bin/node")] };
}

export function bun(): Runtime {
  const folder = `@oven/bun-linux-${arch === "arm64" ? "aarch64" : arch}`;
  return { version: `bun ${versionOf(folder)}`, command: [programIn(folder, "bin/bun")] };
}

/** With all permissions: what it may connect to is the user's choice. */
export function deno(): Runtime {
  const folder = `@deno/linux-${arch}-glibc`;
  return { version: `deno ${versionOf(folder)}`, command: [programIn(folder, "deno"), "run", "--allow-all"] };
}

function versionOf(folder: string): string {
  // Some of the packages of Node.js write it with a "v".
  return JSON.parse(readFileSync(programIn(folder, "package.json"), "utf8")).version.replace(/^v/, "");
}

function programIn(folder: string, file: string): string {
  const path = join(COMPAT, "node_modules", folder, file);
  if (!existsSync(path)) throw new Error(`${path} isn't there: \`npm run test:platforms\` installs it, for Linux.`);
  return path;
}
