import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { runAs, type ServerUser } from "../server/server-user.ts";
import { binary } from "./find-binaries.ts";
import { linkLibraries } from "./library-links.ts";

/** Programs that the server's user has been seen to run. */
export interface Binaries {
  /** The folder with bin, lib and share. */
  readonly native: string;
  /** For example "18.4". */
  readonly version: string;
}

/**
 * The installed programs where `user` can run them, else a copy of them in `copyFolder`: a clone below a private home
 * is closed to the user that a root process runs the server as, and a read-only install can't be given its links.
 */
export function usableBinaries(installed: string, user: ServerUser | null, copyFolder: string): Binaries {
  const inPlace = tryBinaries(installed, user);
  if ("version" in inPlace) return inPlace;

  const copy = join(copyFolder, "native");
  if (!existsSync(copy)) copyBinaries(installed, copy);
  const copied = tryBinaries(copy, user);
  if ("version" in copied) return copied;
  throw new EmbeddedPostgresError(
    `The embedded Postgres can't be run here: ${copied.reason}. The binaries need glibc (Alpine's musl isn't enough), and ` +
      `a temporary folder that isn't mounted noexec. Or run any Postgres from 14 on yourself and connect by its URL.`,
  );
}

function tryBinaries(native: string, user: ServerUser | null): Binaries | { readonly reason: string } {
  try {
    linkLibraries(native);
  } catch (error) {
    return { reason: String(error) };
  }
  const ran = runAs(user, binary(native, "postgres"), ["--version"]);
  const version = /PostgreSQL\) (\S+)/.exec(ran.stdout)?.[1];
  if (ran.status === 0 && version !== undefined) return { native, version };
  return { reason: ran.error?.message ?? (ran.stderr.trim() || `postgres --version ended with ${ran.status}`) };
}

function copyBinaries(installed: string, copy: string): void {
  const unfinished = `${copy}.${process.pid}`;
  for (const part of ["bin", "lib", "share", "pg-symlinks.json"]) {
    const from = join(installed, part);
    if (!existsSync(from)) continue;
    cpSync(from, join(unfinished, part), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !file.endsWith(".a"),
    });
  }
  openToAll(unfinished);
  try {
    renameSync(unfinished, copy);
  } catch (error) {
    // Another process was first; its copy is as good.
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
}

/** Readable by everyone, and executable where it was for its owner, whatever umask the install had. */
function openToAll(path: string): void {
  const { mode } = statSync(path);
  chmodSync(path, mode | 0o444 | (mode & 0o100 ? 0o111 : 0));
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) openToAll(child);
    else if (entry.isFile())
      chmodSync(child, statSync(child).mode | 0o444 | (statSync(child).mode & 0o100 ? 0o111 : 0));
  }
}
