import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { build } from "vite";
import { beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { packageProgram } from "../packages/cyclone-pg/test/support/bundled-program.ts";
import { useTestDatabase } from "../packages/cyclone-pg/test/support/test-database.ts";
import { IN_BACKGROUND } from "./support/in-background.ts";
import { expectSmoke } from "./support/run-smoke.ts";
import { bun, type Runtime } from "./support/runtimes.ts";

const database = useTestDatabase();
const { installed } = inject("packed");
const program = join(installed, "smoke-to-bundle.mjs");
const thisNode: Runtime = { version: `node ${process.versions.node}`, command: [process.execPath] };

beforeAll(() => copyFileSync(join(import.meta.dirname, "programs/smoke.mjs"), program));

it.each([
  ["esbuild: one ES module runs the smoke program in an empty folder", "esm bundle"],
  ["esbuild: one CommonJS file runs the smoke program in an empty folder", "cjs bundle"],
] as const)("%s", async (_title, packaging) => {
  const { path } = await packageProgram(program, packaging);
  await expectAlone(path, thisNode, packaging.replace(" ", "_"));
});

it.each([
  ["webpack: one ES module runs the smoke program in an empty folder", "smoke.mjs"],
  ["webpack: one CommonJS file runs the smoke program in an empty folder", "smoke.cjs"],
])("%s", async (_title, file) => {
  const path = join(emptyFolder(), file);
  const bundler = join(import.meta.dirname, "programs/bundle-with-webpack.mjs");
  const [command, ...args] = IN_BACKGROUND;
  expect(execFileSync(command, [...args, bundler, program, path], { encoding: "utf8" })).toBe("");
  await expectAlone(path, thisNode, `webpack_${parse(file).ext.slice(1)}`);
});

it("Vite: one ES module of an SSR build runs the smoke program in an empty folder", async () => {
  const outDir = emptyFolder();
  const warnings: string[] = [];
  await build({
    configFile: false,
    root: installed,
    logLevel: "silent",
    ssr: { noExternal: true, external: ["pg-native"] },
    build: {
      ssr: program,
      outDir,
      rolldownOptions: {
        output: { entryFileNames: "smoke.mjs" },
        onLog: (_level, { message }) => void warnings.push(message),
      },
    },
  });
  expect(warnings).toEqual([]);
  await expectAlone(join(outDir, "smoke.mjs"), thisNode, "vite");
});

it("Bun's bundler: one file runs the smoke program on Bun in an empty folder", async () => {
  const path = join(emptyFolder(), "smoke.js");
  const [command] = bun().command;
  execFileSync(command, ["build", "--target=bun", `--outfile=${path}`, program]);
  await expectAlone(path, bun(), "bun_build");
});

/** Runs a bundle that lies alone in its folder, with no `node_modules` in it or above it. */
async function expectAlone(path: string, runtime: Runtime, schema: string): Promise<void> {
  const { dir, base, root } = parse(path);
  expect(readdirSync(dir)).toEqual([base]);
  for (let above = dir; above !== root; above = parse(above).dir) {
    expect(existsSync(join(above, "node_modules")), `${above}/node_modules`).toBe(false);
  }
  await expectSmoke(database, { runtime, path, cwd: dir, schema });
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
