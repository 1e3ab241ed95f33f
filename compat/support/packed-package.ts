import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const PACKAGE = join(ROOT, "packages/cyclone-pg");

/** Packs the package as it was built into `folder`. Gives the tarball's path. */
export function packPackage(folder: string): string {
  const name = npm(["pack", "--silent", "--pack-destination", folder], PACKAGE).trim().split("\n").at(-1) ?? "";
  return join(folder, name);
}

/**
 * Installs a tarball as users do, into a new folder. The types of Node.js are pinned: the driver's types ask for any version,
 * and the newest one of tomorrow isn't what is tested here.
 */
export function installPackage(tarball: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  npm(
    ["install", "--prefer-offline", "--no-package-lock", "--ignore-scripts", tarball, "@types/node@20.19.43"],
    folder,
  );
}

function npm(args: readonly string[], cwd: string): string {
  // Of the script that runs this, nothing shall reach npm: least of all which folder it works in.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_(local_)?prefix$/i.test(name)),
  );
  const ran = spawnSync("npm", args, { cwd, env, encoding: "utf8", shell: process.platform === "win32" });
  if (ran.status !== 0) throw new Error(`npm ${args.join(" ")} failed:\n${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}
