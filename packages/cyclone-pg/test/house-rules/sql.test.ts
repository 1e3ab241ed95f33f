import { expect, test } from "vitest";
import { lexemesOf, type SourceFile, sourceFiles } from "./source-files.ts";

/** Session and transaction commands, which belong to whoever holds the connection. */
const SESSION_COMMAND =
  /^(begin|start transaction|commit|rollback|savepoint|release savepoint|abort|set (local|session)|listen|unlisten|notify|show)\b/i;
/** Where transactions are begun and ended: the connections, a client's own transactions, a handler's completionTx. */
const CONNECTION_HOLDERS = ["db/", "client/statements.ts", "worker/completion-tx/"];
const STATEMENT =
  /\b(select\b[^]*\bfrom|insert\s+into|update\s+\S+(\s+\S+)?\s+set|delete\s+from|(create|alter|drop)\s+(table|schema|index|type|view|function|database)|truncate\s|lock\s+table|for\s+update|pg_(try_)?advisory)\b|^\s*select\s|^\s*with\s+\w+\s+as\b/i;

/** Single texts outside `sql/` and `migrations/` that are right where they are, with the reason. */
const EXCEPTIONS: readonly { readonly folder: string; readonly pattern: RegExp }[] = [
  // Looks at the session itself and not at any table: they belong to the connection's owner.
  { folder: "db/", pattern: /^select (current_setting|pg_backend_pid|pg_is_in_recovery|set_config)\(/ },
  { folder: "db/", pattern: /^select pg_notify\(/ },
  { folder: "db/", pattern: /^select pg_cancel_backend\(/ },
  { folder: "worker/completion-tx/", pattern: /^select (current_setting|set_config)\(/ },
];

const BUCKET = /\bbucket\s*=|\.bucket\s*=|\bbucket\b[^]*\)\s*(select|values)/;

test("SQL is in sql/ and migrations/ only", () => {
  expect(sourceFiles().flatMap(strayStatements)).toEqual([]);
});

test("the place rule can fail", () => {
  const stray = (path: string, text: string) => strayStatements({ path, text });
  expect(stray("client/a.ts", "query(`select id\nfrom ${t.runs}`)")).toHaveLength(1);
  expect(stray("engine/a.ts", 'query("update cyclone_steps set state = 1")')).toHaveLength(1);
  expect(stray("db/a.ts", 'query("insert into x values (1)")')).toHaveLength(1);
  expect(stray("engine/a.ts", 'query("begin")')).toEqual(["engine/a.ts: begin"]);
  expect(stray("client/a.ts", "query(\"select current_setting('x')\")")).toHaveLength(1);
  expect(stray("db/a.ts", 'query("begin"); query("select current_setting(\'x\')")')).toEqual([]);
  expect(stray("client/a.ts", 'throw new Error("select a queue from the list")')).toHaveLength(1);
  expect(stray("client/a.ts", 'throw new Error("the update couldn\'t be made")')).toEqual([]);
});

test("each statement of the engine names its bucket", () => {
  expect(sourceFiles().flatMap(statementsWithoutBucket)).toEqual([]);
});

test("the bucket rule can fail", () => {
  const sample = (sql: string) => ({ path: "sql/a.ts", text: `defineStatement({ text: (t) => \`${sql}\` })` });
  expect(statementsWithoutBucket(sample("select 1 from ${t.steps} where state = 'x'"))).toEqual(["sql/a.ts"]);
  expect(statementsWithoutBucket(sample("select 1 from ${t.steps} s where s.bucket = $1"))).toEqual([]);
});

test("now() is in no statement: inside a caller's transaction it is the time of BEGIN", () => {
  expect(sourceFiles().flatMap(usesOfNow)).toEqual([]);
});

test("the time rule can fail", () => {
  const uses = (sql: string) => usesOfNow({ path: "sql/a.ts", text: `const text = \`${sql}\`;` });
  expect(uses("select now()")).toHaveLength(1);
  expect(uses("select NOW ( )")).toHaveLength(1);
  expect(uses("select current_timestamp")).toHaveLength(1);
  expect(uses("select transaction_timestamp()")).toHaveLength(1);
  expect(uses("select statement_timestamp(), s.know()")).toEqual([]);
});

test("every statement is in the catalogue", () => {
  const files = sourceFiles();
  const catalogue = files.find(({ path }) => path === "sql/catalog.ts")?.text ?? "";
  expect(files.flatMap((file) => missingFrom(catalogue, file))).toEqual([]);
});

test("the catalogue rule can fail", () => {
  const file = { path: "sql/a.ts", text: "export const claimSteps = defineStatement<A, B>({})" };
  expect(missingFrom("export const catalog = [claimMore];", file)).toEqual(["sql/a.ts: claimSteps"]);
  expect(missingFrom("export const catalog = [claimSteps];", file)).toEqual([]);
});

function strayStatements({ path, text }: SourceFile): string[] {
  if (isSqlFile(path)) return [];
  const holdsConnections = CONNECTION_HOLDERS.some((place) => path.startsWith(place));
  const isException = (sql: string) =>
    EXCEPTIONS.some(({ folder, pattern }) => path.startsWith(folder) && pattern.test(sql));
  return lexemesOf(text)
    .strings.filter((string) => {
      if (STATEMENT.test(string)) return !isException(string.trim());
      return !holdsConnections && isSentToDatabase(text, string) && SESSION_COMMAND.test(string);
    })
    .map((string) => `${path}: ${string.trim().slice(0, 60)}`);
}

/** A word like "commit" may be a label; it is a command where it is the argument of a `query(…)`. */
function isSentToDatabase(text: string, string: string): boolean {
  return ['"', "'", "`"].some((quote) => text.includes(`query(${quote}${string}`));
}

function statementsWithoutBucket({ path, text }: SourceFile): string[] {
  if (!path.startsWith("sql/") || !text.includes("defineStatement")) return [];
  const usesEngineTables = /\$\{t\.(runs|steps|deps|attempts|signals)\}/.test(text);
  return usesEngineTables && !BUCKET.test(text) ? [path] : [];
}

function usesOfNow({ path, text }: SourceFile): string[] {
  if (!isSqlFile(path)) return [];
  return lexemesOf(text)
    .strings.filter((string) =>
      /\bnow\s*\(|\b(current_timestamp|current_date|current_time|localtimestamp|transaction_timestamp)\b/i.test(string),
    )
    .map((string) => `${path}: ${string.trim().slice(0, 60)}`);
}

function missingFrom(catalogue: string, { path, text }: SourceFile): string[] {
  if (!path.startsWith("sql/")) return [];
  const list = catalogue.slice(catalogue.indexOf("catalog"));
  return [...text.matchAll(/export const (\w+) = defineStatement\b/g)]
    .map(([, name]) => name ?? "")
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(list))
    .map((name) => `${path}: ${name}`);
}

function isSqlFile(path: string): boolean {
  return path.startsWith("sql/") || path.startsWith("migrations/");
}
