import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/** The compilers that must take the published declarations, as they are called in the root's package.json. */
export const COMPILERS = ["typescript59", "typescript", "typescript7"] as const;
export type Compiler = (typeof COMPILERS)[number];

export interface CheckOutcome {
  readonly passed: boolean;
  /** The compiler's messages, one per line, continuation lines indented. */
  readonly output: string;
}

export interface CheckFigures {
  readonly instantiations: number;
  /** CPU time of the compiler's Node.js process; TypeScript 7 does its work in another one, so there it is next to nothing. */
  readonly cpuSeconds: number;
}

const ROOT = resolve(import.meta.dirname, "../../../../..");
const PACKAGE = join(ROOT, "packages/cyclone-pg");
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const CHECK_MS_MAX = 300_000;
/** Prints the CPU time at the end; the clock's would say how busy the machine was. */
const PRINT_CPU = `data:text/javascript,process.on("exit",()=>console.log("CPU: "+process.cpuUsage().user/1e6))`;

/** A program that uses the package as its users do: by its emitted declarations, under the strictest options. */
export class TypeProject {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Emits the package's declarations into a new folder below the workspace, where its dependencies are found. */
  static async create(): Promise<TypeProject> {
    const cache = join(ROOT, ".cache");
    await mkdir(cache, { recursive: true });
    const project = new TypeProject(await mkdtemp(join(cache, "types-")));
    const emitted = await project.#run("typescript", [
      "-p",
      join(PACKAGE, "tsconfig.build.json"),
      "--outDir",
      join(project.folder, "cyclone-pg"),
      "--emitDeclarationOnly",
      "--noCheck",
      "--declarationMap",
      "false",
    ]);
    if (!emitted.passed) throw new Error(`The declarations can't be emitted:\n${emitted.output}`);
    return project;
  }

  /** Writes a program and checks it. `skipLibCheck` leaves the declarations themselves out. */
  async check(
    compiler: Compiler,
    file: string,
    text: string,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<CheckOutcome> {
    const config = await this.#write(compiler, file, text, options);
    return this.#run(compiler, ["-p", config, "--pretty", "false", "--noErrorTruncation"]);
  }

  /** Checks a program and says what that took. */
  async measure(compiler: Compiler, file: string, text: string): Promise<CheckOutcome & CheckFigures> {
    const config = await this.#write(compiler, file, text, { skipLibCheck: true });
    const outcome = await this.#run(compiler, ["-p", config, "--extendedDiagnostics"], ["--import", PRINT_CPU]);
    const figure = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(outcome.output)?.[1]);
    return { ...outcome, instantiations: figure("Instantiations"), cpuSeconds: figure("CPU") };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #write(
    compiler: Compiler,
    file: string,
    text: string,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const config = join(this.folder, `${file}.${compiler}.json`);
    await writeFile(join(this.folder, file), text);
    await writeFile(config, JSON.stringify({ compilerOptions: { ...STRICTEST, ...options }, files: [file] }));
    return config;
  }

  async #run(compiler: Compiler, args: readonly string[], nodeArgs: readonly string[] = []): Promise<CheckOutcome> {
    const tsc = join(ROOT, "node_modules", compiler, "bin/tsc");
    return new Promise((settle, fail) => {
      const limits = { maxBuffer: OUTPUT_BYTES_MAX, timeout: CHECK_MS_MAX, cwd: this.folder };
      execFile(process.execPath, [...nodeArgs, tsc, ...args], limits, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== "number") fail(error);
        else settle({ passed: error === null, output: stdout + stderr });
      });
    });
  }
}

const STRICTEST = {
  target: "es2023",
  module: "nodenext",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  isolatedModules: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  skipLibCheck: false,
  noEmit: true,
  paths: { "cyclone-pg": ["./cyclone-pg/index.d.ts"] },
} as const;

/** A file beside the tests, importing the package by its name instead of its sources. */
export async function readProgram(file: string): Promise<string> {
  const text = await readFile(join(import.meta.dirname, "..", file), "utf8");
  return text.replaceAll('"../../src/index.ts"', '"cyclone-pg"');
}
