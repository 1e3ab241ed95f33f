/** Installs what `compat/` locks, if it isn't there: a gigabyte of runtimes and bundlers that only `npm run test:platforms` needs. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./workspaces.mjs";

const COMPAT = join(ROOT, "compat");
const STAMP = join(COMPAT, "node_modules/.installed");
const wanted = `${process.platform} ${process.arch}\n${readFileSync(join(COMPAT, "package-lock.json"), "utf8")}`;

if (!existsSync(STAMP) || readFileSync(STAMP, "utf8") !== wanted) {
  const installed = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: COMPAT,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (installed.status !== 0) process.exit(installed.status ?? 1);
  writeFileSync(STAMP, wanted);
}
