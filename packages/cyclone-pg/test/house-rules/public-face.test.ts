import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { sourceFiles } from "./source-files.ts";

/** The files below `src` that the package's entry points are. */
const ENTRIES = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [entry.default.replace("./dist/", "").replace(/\.js$/, ".ts")],
);

/** Imports a module in a fresh process and reports what that has changed. */
const PROBE = `
const before = {
  globals: Object.getOwnPropertyNames(globalThis).length,
  listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]).join(),
};
const read = [];
const env = process.env;
process.env = new Proxy(env, { get(target, name) { read.push(String(name)); return target[name]; } });
await import(process.argv[1]);
await new Promise((resolve) => setImmediate(resolve));
const after = {
  globals: Object.getOwnPropertyNames(globalThis).length,
  listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]).join(),
};
process.stdout.write(JSON.stringify({
  globals: after.globals - before.globals,
  listeners: after.listeners === before.listeners ? 0 : 1,
  resources: process.getActiveResourcesInfo().filter((name) => !/^(Immediate|PipeWrap|TTYWrap|FSReq|CloseReq)/.test(name)),
  read: read.filter((name) => name.startsWith("CYCLONE")),
}));
`;

test("importing the package does nothing", () => {
  for (const entry of ENTRIES) {
    const file = fileURLToPath(new URL(`../../dist/${entry.replace(/\.ts$/, ".js")}`, import.meta.url));
    expect(existsSync(file), "the package isn't built: run `npm run build`").toBe(true);
    expect(probe(pathToFileURL(file).href)).toEqual({ globals: 0, listeners: 0, resources: [], read: [] });
  }
});

test("the import probe can fail", () => {
  const noisy = 'setTimeout(() => {}, 50); process.on("SIGTERM", () => {}); globalThis.left = process.env.CYCLONE_X;';
  expect(probe(`data:text/javascript,${encodeURIComponent(noisy)}`)).toEqual({
    globals: 1,
    listeners: 1,
    resources: ["Timeout"],
    read: ["CYCLONE_X"],
  });
});

test("the entry points have re-exports by name and nothing else", () => {
  expect(ENTRIES).toContain("index.ts");
  for (const entry of ENTRIES) {
    const text = sourceFiles().find(({ path }) => path === entry)?.text ?? "";
    expect(otherThanReExports(text)).toEqual([]);
  }
});

test("the re-export rule can fail", () => {
  expect(otherThanReExports('export { a } from "./a.ts";')).toEqual([]);
  expect(otherThanReExports('export * from "./a.ts";')).toHaveLength(1);
  expect(otherThanReExports('import "./a.ts";')).toHaveLength(1);
  expect(otherThanReExports("export const a = 1;")).toHaveLength(1);
});

function probe(url: string): unknown {
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", PROBE, url], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
    timeout: 20_000,
  });
  if (ran.status !== 0) throw new Error(`The probe failed: ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

function otherThanReExports(text: string): string[] {
  return ts
    .createSourceFile("index.ts", text, ts.ScriptTarget.Latest, true)
    .statements.filter(
      (statement) =>
        !(
          ts.isExportDeclaration(statement) &&
          statement.moduleSpecifier !== undefined &&
          statement.exportClause !== undefined &&
          ts.isNamedExports(statement.exportClause)
        ),
    )
    .map((statement) => statement.getText().slice(0, 80));
}

test("every package has the licence", () => {
  const licence = readFileSync(new URL("../../../../LICENSE", import.meta.url), "utf8");
  for (const name of ["cyclone-pg", "cyclone-embedded"]) {
    expect(readFileSync(new URL(`../../../${name}/LICENSE`, import.meta.url), "utf8")).toBe(licence);
  }
});
