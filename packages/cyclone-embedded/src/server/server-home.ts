import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";
import { canReach, chooseServerUser, type ServerUser } from "./server-user.ts";

/** Where one server lives. Plain data: it travels between the starting process and the guardian. */
export interface ServerHome {
  /** The folder that holds all that follows. */
  readonly folder: string;
  /** The cluster itself, what Postgres calls PGDATA. */
  readonly pgdata: string;
  readonly logFile: string;
  /** True if the folder goes when the server stops. */
  readonly temporary: boolean;
  readonly user: ServerUser | null;
}

/** A home in a new temporary folder, open to the server's account alone. */
export function temporaryHome(): ServerHome {
  const user = chooseServerUser(null);
  const base = canReach(user, tmpdir()) ? tmpdir() : "/tmp";
  const folder = mkdtempSync(join(base, "cyclone-postgres-"));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  return homeIn(folder, true, user);
}

/**
 * A home in a folder that stays. Where a root process names a folder that the server's account can't reach (below a
 * private home), the data are kept under /var/tmp instead, always in the same place for the same name.
 */
export function keptHome(dataDir: string): ServerHome {
  const wanted = resolve(dataDir);
  makeFolder(wanted);
  const user = chooseServerUser(join(wanted, "pgdata"));
  if (user !== null) openFolderTo(user, wanted);
  if (canReach(user, wanted)) return homeIn(wanted, false, user);

  const name = createHash("sha256").update(wanted).digest("hex").slice(0, 16);
  const substitute = join("/var/tmp", `cyclone-postgres-${name}`);
  makeFolder(substitute);
  // /var/tmp is open to all: a folder that somebody else put there isn't trusted.
  if (statSync(substitute).uid !== 0) {
    throw new EmbeddedPostgresError(
      `The account that runs Postgres can't reach ${wanted}, and ${substitute} isn't root's. Choose another dataDir.`,
    );
  }
  return homeIn(substitute, false, chooseServerUser(join(substitute, "pgdata")));
}

/** Gives a folder and all in it to the server's account. */
export function giveTo(user: ServerUser | null, path: string): void {
  if (user === null) return;
  lchownSync(path, user.uid, user.gid);
  if (!statSync(path).isDirectory()) return;
  for (const entry of readdirSync(path, { recursive: true, encoding: "utf8" })) {
    lchownSync(join(path, entry), user.uid, user.gid);
  }
}

function homeIn(folder: string, temporary: boolean, user: ServerUser | null): ServerHome {
  return { folder, pgdata: join(folder, "pgdata"), logFile: join(folder, "postgres.log"), temporary, user };
}

/**
 * Lets the server's account, and nobody else, pass through a data folder that is root's own (one of `mkdtemp`, say).
 * Folders above it are not ours to open.
 */
function openFolderTo(user: ServerUser, folder: string): void {
  if (canReach(user, folder) || !canReach(user, dirname(folder)) || statSync(folder).uid !== 0) return;
  chownSync(folder, 0, user.gid);
  chmodSync(folder, statSync(folder).mode | 0o010);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The data folder ${folder} can't be written (${String(error)}). It may belong to another user: start as that user, ` +
        "or as root, or choose another dataDir.",
    );
  }
}
