import { expect, test } from "vitest";
import { runTransitions, transitions } from "../../src/engine/transitions.ts";
import { catalog } from "../../src/sql/catalog.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { coveragePlan, readOnlyStatements, testingStatements } from "./coverage-plan.ts";

const writing = /\b(insert into|update|delete from) "public"\.cyclone_|\bpg_notify\(/;
const tables = tablesOf("public");
const sent = catalog.filter(({ name }) => !testingStatements.includes(name));
const planned = Object.values(coveragePlan).flatMap((share) => [...share.statements]);

test("each statement that writes is in one file's share of the crash enumeration", () => {
  const writers = sent.filter((statement) => writing.test(statement.text(tables))).map(({ name }) => name);
  expect([...planned].sort()).toEqual([...writers].sort());
});

test("each other statement is listed as one that only reads, with the reason", () => {
  const others = sent.filter((statement) => !writing.test(statement.text(tables))).map(({ name }) => name);
  expect(Object.keys(readOnlyStatements).sort()).toEqual([...others].sort());
});

test("each row of the table of transitions names a statement that is in a share", () => {
  const names = new Set<string>(planned);
  expect([...transitions, ...runTransitions].filter((row) => !names.has(row.by))).toEqual([]);
});
