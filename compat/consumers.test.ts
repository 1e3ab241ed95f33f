import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";
import manifest from "../packages/cyclone-pg/package.json" with { type: "json" };
import { IN_BACKGROUND } from "./support/in-background.ts";

const ROOT = resolve(import.meta.dirname, "..");
const { installed } = inject("packed");

/** The strictest options, by which also what a consumer exports must have a name in the package's public face. */
const STRICTEST = {
  target: "es2023",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  isolatedModules: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  declaration: true,
  emitDeclarationOnly: true,
  outDir: "out",
};
const RESOLUTIONS = {
  nodenext: {
    options: { module: "nodenext", moduleResolution: "nodenext" },
    programs: ["consumer.ts", "consumer.cts"],
  },
  bundler: { options: { module: "esnext", moduleResolution: "bundler" }, programs: ["consumer.ts"] },
};

it.each([
  [
    "TypeScript 5.9 compiles a strict consumer of every entry point, by nodenext and by bundler resolution",
    "typescript59",
  ],
  [
    "TypeScript 6.0 compiles a strict consumer of every entry point, by nodenext and by bundler resolution",
    "typescript",
  ],
  [
    "TypeScript 7.0 compiles a strict consumer of every entry point, by nodenext and by bundler resolution",
    "typescript7",
  ],
])("%s", async (title, compiler) => {
  expect(title).toContain(`TypeScript ${versionOf(compiler).replace(/\.\d+$/, "")} `);
  for (const [resolution, { options, programs }] of Object.entries(RESOLUTIONS)) {
    expect(await compile(compiler, { ...STRICTEST, ...options }, programs), resolution).toBe("");
  }
});

it("a strict consumer's mistakes are found", async () => {
  const options = { ...STRICTEST, ...RESOLUTIONS.nodenext.options };
  expect(await compile("typescript7", options, ["mistake.ts"])).toMatch(/mistake\.ts.*error TS2345/);
});

/** Compiles programs in a folder below the one where the package is installed. Gives what the compiler says. */
async function compile(compiler: string, options: object, programs: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(installed, "consumer-"));
  const files = [...programs, ...writeFaces(folder)];
  cpSync(join(import.meta.dirname, "programs"), folder, { recursive: true });
  writeFileSync(join(folder, "mistake.ts"), MISTAKE);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files }));
  const tsc = join(ROOT, "node_modules", compiler, "bin/tsc");
  const [command, ...args] = IN_BACKGROUND;
  return promisify(execFile)(command, [...args, tsc, "-p", folder, "--pretty", "false"], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
}

/** One file per entry point that exports by name, from the package, all that the entry point exports. */
function writeFaces(folder: string): string[] {
  const faces = join(folder, "faces");
  mkdirSync(faces);
  const entries = Object.entries(manifest.exports).filter(([, target]) => typeof target === "object");
  expect(entries).toHaveLength(4);
  return entries.map(([entry, target]) => {
    const { types } = target as { types: string };
    const declared = readFileSync(join(installed, "node_modules/cyclone-pg", types), "utf8");
    const name = `cyclone-pg${entry.slice(1)}`;
    const face = declared.replaceAll(/ from "\.\/[^"]+"/g, ` from "${name}"`).replace(/^\/\/#.*$/m, "");
    expect(face).toMatch(/^export /m);
    const file = `faces/${name.replace("/", "-")}.ts`;
    writeFileSync(join(folder, file), face);
    return file;
  });
}

function versionOf(compiler: string): string {
  return JSON.parse(readFileSync(join(ROOT, "node_modules", compiler, "package.json"), "utf8")).version;
}

const MISTAKE = `
import { createClient, defineStep } from "cyclone-pg";
const add = defineStep("add", (_ctx, n: number) => n + 1);
void add.enqueue(createClient({ connection: "" }), "1");
`;
