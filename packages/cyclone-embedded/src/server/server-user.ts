import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { parse } from "node:path";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";

/** The operating system's account that the server runs under. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root, so a root process lends it another account: the owner of the data that are there
 * already, else `postgres`, else `nobody`. No account is ever created. `null`: the process's own account will do.
 */
export function chooseServerUser(existingData: string | null): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  const owner = existingData === null ? undefined : statSync(existingData, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const user = lookUp("postgres") ?? lookUp("nobody");
  if (user === undefined) {
    throw new EmbeddedPostgresError(
      "Postgres doesn't run as root, and there is no account `postgres` or `nobody` to run it under. Start as another user.",
    );
  }
  return user;
}

/** Runs a program to its end under the server's account, away from folders that the account may not see. */
export function runAs(user: ServerUser | null, file: string, args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(file, args, { ...processOptions(user), encoding: "utf8" });
}

/** What every program of the server is spawned with. */
export function processOptions(user: ServerUser | null) {
  return {
    cwd: parse(process.execPath).root,
    env: serverEnvironment(),
    windowsHide: true,
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  };
}

/** True if the server's account can reach this folder and use it. */
export function canReach(user: ServerUser | null, folder: string): boolean {
  if (user === null) return true;
  return runAs(user, "/bin/sh", ["-c", 'test -x "$1"', "sh", folder]).status === 0;
}

/** The process's environment without what would redirect Postgres (PGDATA, PGPORT …), and with messages in English. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PG"));
  return { ...Object.fromEntries(kept), LC_ALL: "C" };
}

function lookUp(name: string): ServerUser | undefined {
  const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
  if (uid?.status !== 0 || gid?.status !== 0) return undefined;
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}
