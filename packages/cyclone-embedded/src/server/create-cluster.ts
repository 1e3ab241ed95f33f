import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { binary } from "../binaries/find-binaries.ts";
import type { Binaries } from "../binaries/usable-binaries.ts";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { giveTo, type ServerHome } from "./server-home.ts";
import { processOptions } from "./server-user.ts";

/** True if the home holds a cluster from an earlier start. @throws if these programs can't use it */
export function hasCluster(home: ServerHome, version: string): boolean {
  const versionFile = join(home.pgdata, "PG_VERSION");
  if (!existsSync(home.pgdata)) return false;
  let made: string;
  try {
    made = readFileSync(versionFile, "utf8").trim();
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The data in ${home.pgdata} can't be read (${String(error)}). They may belong to another user: start as that user, ` +
        "or as root, or choose another dataDir.",
    );
  }
  if (made !== version.split(".")[0]) {
    throw new EmbeddedPostgresError(
      `The data in ${home.pgdata} were made by Postgres ${made}, and this is Postgres ${version}. ` +
        "Choose another dataDir, or dump the data with the old version.",
    );
  }
  if (home.user !== null && statSync(home.pgdata).uid !== home.user.uid) giveTo(home.user, home.pgdata);
  return true;
}

/**
 * Runs initdb beside the final place and then renames, so that an interrupted start leaves no half a cluster.
 * Collation is the built-in C.UTF-8: the same order on every machine.
 */
export async function createCluster(
  home: ServerHome,
  binaries: Binaries,
  durable: boolean,
  signal: AbortSignal,
): Promise<void> {
  const unfinished = `${home.pgdata}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  giveTo(home.user, unfinished);
  const args = ["-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-instructions"];
  args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", ...(durable ? [] : ["--no-sync"]));
  const child = spawn(binary(binaries.native, "initdb"), args, {
    ...processOptions(home.user),
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (status !== 0) {
    throw new EmbeddedPostgresError(`initdb failed in ${home.folder}`, (await output).join("").trim().slice(-4096));
  }
  renameSync(unfinished, home.pgdata);
}
