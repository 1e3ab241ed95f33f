/**
 * Makes a bare clone ready: Node.js version, dependencies, build. Each part runs only when it is out of date.
 * Uses nothing but Node.js itself, for it runs before anything is installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sourceHash } from "./source-hash.mjs";
import { stage } from "./stage.mjs";
import { ROOT } from "./workspaces.mjs";

const CACHE = join(ROOT, "node_modules/.cache/cyclone");
const INSTALLED = join(CACHE, "installed");
const BUILT = join(CACHE, "built");

checkNodeVersion();
await installDependencies();
await buildSources();

function checkNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`Cyclone needs Node.js 20.19 or later; this is ${process.version} (${process.execPath}).`);
  process.exit(1);
}

async function installDependencies() {
  const wanted = `${hashOf(join(ROOT, "package-lock.json"))} ${process.platform} ${process.arch}`;
  const installed = readStamp(INSTALLED);
  if (installed === wanted) return;
  // An install made by hand (`npm install`) is as good as ours, unless it came here from another platform.
  const fromHere = installed === undefined || installed.endsWith(` ${process.platform} ${process.arch}`);
  if (!(fromHere && isInstalledAsLocked())) {
    // No package's install script is needed here, and newer versions of npm warn of each that they didn't run.
    await stage("install dependencies (npm ci)", () => runNpm(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]));
  }
  writeStamp(INSTALLED, wanted);
}

async function buildSources() {
  if (readStamp(BUILT) === sourceHash()) return;
  const built = spawnSync(process.execPath, [join(ROOT, "scripts/build.mjs")], { cwd: ROOT, stdio: "inherit" });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

/** True when what npm recorded in node_modules has the version of each package in the lock, optional ones aside. */
function isInstalledAsLocked() {
  const record = join(ROOT, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const locked = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(record, "utf8")).packages;
  for (const [path, entry] of Object.entries(locked)) {
    if (!path.includes("node_modules/")) continue;
    const found = present[path];
    if (!found ? !entry.optional : found.version !== entry.version || found.integrity !== entry.integrity) return false;
  }
  return Object.keys(present).every((path) => path in locked);
}

/** @param {string[]} args */
function runNpm(args) {
  // npm gives its own path to the scripts that it runs; started by hand, the one on the PATH is used.
  const npmCli = process.env.npm_execpath;
  const ran = npmCli
    ? spawnSync(process.execPath, [npmCli, ...args], { cwd: ROOT, stdio: "inherit" })
    : spawnSync("npm", args, { cwd: ROOT, stdio: "inherit", shell: process.platform === "win32" });
  if (ran.status === 0) return;
  console.error(`npm ${args.join(" ")} failed in ${ROOT}${ran.error ? `: ${ran.error.message}` : "."}`);
  process.exit(ran.status ?? 1);
}

/** @param {string} file */
function hashOf(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** @param {string} file */
function readStamp(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/**
 * @param {string} file
 * @param {string} text
 */
function writeStamp(file, text) {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(file, text);
}
