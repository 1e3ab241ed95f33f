/** Checks each package as it would be published: publint for its manifest, attw for the types that consumers see. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildableWorkspaces, ROOT } from "./workspaces.mjs";

let failed = false;
for (const { name, folder } of buildableWorkspaces()) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (manifest.private) continue;
  const packed = mkdtempSync(join(tmpdir(), "cyclone-packed-"));
  try {
    run("npm", ["pack", "--silent", "--pack-destination", packed], folder);
    const tarball = join(packed, `${name}-${manifest.version}.tgz`);
    run("npx", ["--no-install", "publint", "run", tarball, "--strict"], ROOT);
    run("npx", ["--no-install", "attw", tarball, "--profile", "esm-only"], ROOT);
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
}
process.exit(failed ? 1 : 0);

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const ran = spawnSync(command, args, { cwd, stdio: "inherit", shell: process.platform === "win32" });
  if (ran.status === 0) return;
  failed = true;
  console.error(`${command} ${args.join(" ")} failed.`);
}
