import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { IN_BACKGROUND } from "./in-background.ts";

const COMPAT = resolve(import.meta.dirname, "..");
const BUILD_MS_MAX = 300_000;

/** Next.js's command. */
export const NEXT = join(COMPAT, "node_modules/next/dist/bin/next");

/** A Next.js app as it was built, in a folder of its own that is removed when the test ends. */
export interface NextApp {
  readonly folder: string;
  /** The folder that a standalone build can be copied from, and the server's file in it. */
  readonly standalone: { readonly folder: string; readonly server: string };
  /** What the build said, but for its advice to CI about a cache. */
  readonly output: string;
}

/** Copies `next-app` to where Next.js is found, with the installed package, and builds it. */
export function buildNextApp(installed: string, options: readonly string[], env: Record<string, string>): NextApp {
  const cache = join(COMPAT, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "next-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(COMPAT, "next-app"), folder, { recursive: true });
  cpSync(join(installed, "node_modules"), join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const [command, ...args] = IN_BACKGROUND;
  const output = execFileSync(command, [...args, NEXT, "build", ...options], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", ...env },
    encoding: "utf8",
    timeout: BUILD_MS_MAX,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const server = join(".cache", folder.slice(cache.length + 1), "server.js");
  const told = output
    .split("\n")
    .filter((line) => !line.includes("No build cache found"))
    .join("\n");
  return { folder, standalone: { folder: join(folder, ".next/standalone"), server }, output: told };
}
