import { describe, expect, test } from "vitest";
import type { AuditSummary, PackageMention } from "../audit/audit-summary.ts";
import { checkTotals } from "./check-totals.ts";
import { renderReport } from "./render-report.ts";

const mention = (name: string, over: Partial<PackageMention> = {}): PackageMention => ({
  path: `node_modules/${name}`,
  name,
  version: "1.0.0",
  licence: null,
  bytes: 10,
  problem: null,
  ...over,
});

const SUMMARY: AuditSummary = {
  packages: 4,
  files: 37,
  bytes: 1_234_567,
  licences: [
    { licence: "MIT", packages: 2, files: 30, bytes: 1_230_000 },
    { licence: "MPL-2.0", packages: 1, files: 5, bytes: 4_557 },
    { licence: null, packages: 1, files: 2, bytes: 10 },
  ],
  unlicensed: [mention("lonely")],
  copyleft: [mention("@scope/shared", { licence: "MPL-2.0", bytes: 4_557 })],
  problems: [mention("lonely", { version: null, problem: "package.json has no version" })],
  largest: [mention("big", { bytes: 1_200_000 }), mention("@scope/shared", { bytes: 4_557 })],
};
const NOTHING: AuditSummary = {
  packages: 0,
  files: 0,
  bytes: 0,
  licences: [],
  unlicensed: [],
  copyleft: [],
  problems: [],
  largest: [],
};

describe("renderReport", () => {
  test("shows the licences, the packages to look at, and the check", () => {
    expect(
      `\n${renderReport({ folder: "/app", summary: SUMMARY, mismatches: [] }).join("\n")}\n`,
    ).toMatchInlineSnapshot(`
      "
      Licences of the 4 packages installed in /app

      Licence  Packages  Files    Size
      ───────  ────────  ─────  ──────
      MIT             2     30  1.2 MB
      MPL-2.0         1      5  4.6 kB
      (none)          1      2    10 B
      ───────  ────────  ─────  ──────
      Total           4     37  1.2 MB

      Without a licence (1):
        lonely@1.0.0  node_modules/lonely

      Copyleft (1):
        @scope/shared@1.0.0  MPL-2.0  node_modules/@scope/shared

      Not as it should be (1):
        lonely  package.json has no version  node_modules/lonely

      Largest (2):
        big@1.0.0            1.2 MB  node_modules/big
        @scope/shared@1.0.0  4.6 kB  node_modules/@scope/shared

      Checked against the table: 4 rows, each package once, 1234567 bytes. The totals agree.
      "
    `);
  });

  test("says so where nothing is installed", () => {
    expect(renderReport({ folder: "/app", summary: NOTHING, mismatches: [] })).toEqual([
      "No packages are installed in /app.",
      "",
      "Checked against the table: 0 rows, each package once, 0 bytes. The totals agree.",
    ]);
  });

  test("names at most 40 packages of a kind, and says how many more there are", () => {
    const unlicensed = Array.from({ length: 43 }, (_, index) => mention(`p${index}`));
    const lines = renderReport({ folder: "/app", summary: { ...SUMMARY, unlicensed }, mismatches: [] });
    expect(lines.filter((line) => /^ {2}p\d/.test(line))).toHaveLength(40);
    expect(lines).toContain("  … and 3 more, in the table audit_packages");
  });

  test("says what doesn't agree", () => {
    const mismatches = checkTotals(5, { rows: 4, paths: 3, bytes: 1_234_567 }, SUMMARY);
    expect(renderReport({ folder: "/app", summary: SUMMARY, mismatches }).slice(-3)).toEqual([
      "The totals don't agree:",
      "  packages listed, and rows in the table: 5 and 4",
      "  rows in the table, and different paths in it: 4 and 3",
    ]);
  });
});

describe("checkTotals", () => {
  test("finds nothing where all agrees", () => {
    expect(checkTotals(4, { rows: 4, paths: 4, bytes: 1_234_567 }, SUMMARY)).toEqual([]);
  });

  test("finds licences that don't add up", () => {
    expect(checkTotals(4, { rows: 4, paths: 4, bytes: 1_234_567 }, { ...SUMMARY, licences: [] })).toEqual([
      "packages in the summary, and by licence: 4 and 0",
      "bytes in the summary, and by licence: 1234567 and 0",
    ]);
  });
});
