import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from "cyclone-embedded";
import { type FixtureProcess, spawnFixture } from "../../../cyclone-pg/test/support/process.ts";

const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));
const ENTRY = new URL("../../dist/index.js", import.meta.url).href;

/** What a program prints of its server. */
export type ServerFacts = Pick<EmbeddedPostgres, "url" | "port" | "dataDir" | "kept" | "logFile">;

interface ProgramOptions {
  /** The package's entry, where it isn't this repository's. */
  readonly entry?: string;
  /** The program's file, where it isn't the one in this folder. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
}

/** Starts a program of its own that starts a server. */
export function spawnProgram(options: EmbeddedPostgresOptions, program: ProgramOptions = {}): FixtureProcess {
  const { entry = ENTRY, file = PROGRAM, env = {}, ...account } = program;
  return spawnFixture(file, [entry, JSON.stringify(options)], env, { cwd: "/", ...account });
}

/** Waits until a program's server is ready. */
export async function serverOf(program: FixtureProcess): Promise<ServerFacts> {
  const line = await program.waitForLine(/^\{"(ready|failed)"/, 60_000);
  const message = JSON.parse(line) as { ready?: ServerFacts; failed?: string };
  if (message.ready === undefined) throw new Error(`The program's server failed: ${message.failed}`);
  return message.ready;
}

/** The process ids of a program's children, which are its guardians. Linux only. */
export function guardiansOf(parentPid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parentPid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}
