import { builtinModules } from "node:module";
import { posix } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { type SourceFile, sourceFiles } from "./source-files.ts";

/** The files that the package's entry points are; they may import all folders. */
const ENTRIES = ["index.ts", "testing.ts", "otel.ts"];

/** What each folder of `src` may import, itself aside; `orm.ts` imports its own folder. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  errors: ["model"],
  model: ["errors"],
  builder: ["errors", "model"],
  orm: ["errors", "model", "builder"],
  sql: ["errors", "model"],
  db: ["errors", "model", "sql"],
  migrations: ["errors", "model", "sql"],
  engine: ["errors", "model", "sql", "db", "builder"],
  worker: ["errors", "model", "sql", "db", "builder", "engine"],
  client: ["errors", "model", "sql", "db", "builder", "engine", "worker", "migrations"],
  testing: ["errors", "model", "sql", "db", "builder", "engine", "client", "migrations"],
  otel: ["errors", "model", "sql", "builder", "client"],
};

interface Import {
  readonly to: string;
  readonly typesOnly: boolean;
}

test("imports between folders go one way", () => {
  expect(sourceFiles().flatMap(wrongImports)).toEqual([]);
});

test("the import rule can fail", () => {
  const wrong = (path: string, text: string) => wrongImports({ path, text });
  expect(wrong("model/a.ts", 'import { x } from "../engine/x.ts";')).toEqual(["model/a.ts imports engine/x.ts"]);
  expect(wrong("builder/a.ts", 'export { x } from "../sql/x.ts";')).toHaveLength(1);
  expect(wrong("engine/a.ts", 'import type { x } from "../client/x.ts";')).toHaveLength(1);
  expect(wrong("engine/a.ts", 'import { x } from "../builder/x.ts";')).toEqual([]);
  expect(wrong("errors/a.ts", 'import { x } from "../index.ts";')).toHaveLength(1);
  expect(wrong("odd/a.ts", 'import { x } from "./b.ts";')).toEqual(["odd/a.ts is in no known folder"]);
});

test("only the runtime and declared dependencies are imported", () => {
  const declared = new Set(Object.keys(manifest.dependencies));
  const foreign = sourceFiles().flatMap(({ path, text }) =>
    ts
      .preProcessFile(text, true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => !name.startsWith(".") && !isBuiltin(name) && !declared.has(name))
      .map((name) => `${path} imports ${name}`),
  );
  expect(foreign).toEqual([]);
});

test("there is no circle of imports at run time", () => {
  expect(circles(sourceFiles())).toEqual([]);
});

test("the circle rule can fail", () => {
  const files = [
    { path: "model/a.ts", text: 'import { b } from "./b.ts";' },
    { path: "model/b.ts", text: 'import { a } from "./a.ts";' },
    { path: "model/c.ts", text: 'import type { a } from "./a.ts";' },
  ];
  expect(circles(files)).toEqual(["model/a.ts > model/b.ts > model/a.ts"]);
});

function wrongImports(file: SourceFile): string[] {
  if (ENTRIES.includes(file.path)) return [];
  const folder = file.path === "orm.ts" ? "orm" : folderOf(file.path);
  const allowed = ALLOWED[folder];
  if (allowed === undefined) return [`${file.path} is in no known folder`];
  return relativeImports(file)
    .filter(({ to }) => {
      const target = folderOf(to);
      if (target === folder) return false;
      return !allowed.includes(target);
    })
    .map(({ to }) => `${file.path} imports ${to}`);
}

function circles(files: readonly SourceFile[]): string[] {
  const targets = new Map(
    files.map((file) => [file.path, relativeImports(file).flatMap(({ to, typesOnly }) => (typesOnly ? [] : [to]))]),
  );
  const found: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(" > "));
    if (finished.has(path) || trail.includes(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return found;
}

function relativeImports({ path, text }: SourceFile): Import[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return file.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const specifier = statement.moduleSpecifier;
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return [];
    const to = posix.join(posix.dirname(path), specifier.text);
    return [{ to, typesOnly: isTypesOnly(statement) }];
  });
}

function isTypesOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const clause = statement.importClause;
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const bindings = clause.namedBindings;
  if (clause.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) return false;
  return bindings.elements.every(({ isTypeOnly }) => isTypeOnly);
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

function isBuiltin(name: string): boolean {
  return name.startsWith("node:") && builtinModules.includes(name.slice(5));
}
