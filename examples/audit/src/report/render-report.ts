import type { AuditSummary, PackageMention } from "../audit/audit-summary.ts";
import { formatBytes } from "./format-bytes.ts";
import { textTable } from "./text-table.ts";

/** What a report is made of. */
export interface ReportInput {
  readonly folder: string;
  readonly summary: AuditSummary;
  /** Of {@link checkTotals}: empty if all agrees. */
  readonly mismatches: readonly string[];
}

const MENTIONS_MAX = 40;

/** The report, line by line. The same summary always gives the same text. */
export function renderReport({ folder, summary, mismatches }: ReportInput): string[] {
  if (summary.packages === 0) {
    return [`No packages are installed in ${folder}.`, "", ...renderCheck(summary, mismatches)];
  }
  return [
    `Licences of the ${summary.packages} ${plural(summary.packages, "package")} installed in ${folder}`,
    "",
    ...licenceTable(summary),
    "",
    ...section("Without a licence", summary.unlicensed, "Every package says its licence."),
    ...section("Copyleft", summary.copyleft, "None.", ({ licence }) => licence ?? ""),
    ...section(
      "Not as it should be",
      summary.problems,
      "Every manifest could be read.",
      ({ problem }) => problem ?? "",
    ),
    ...section("Largest", summary.largest, "", ({ bytes }) => formatBytes(bytes)),
    ...renderCheck(summary, mismatches),
  ];
}

function licenceTable(summary: AuditSummary): string[] {
  return textTable(
    [
      { title: "Licence", align: "left" },
      { title: "Packages", align: "right" },
      { title: "Files", align: "right" },
      { title: "Size", align: "right" },
    ],
    summary.licences.map(({ licence, packages, files, bytes }) => [
      licence ?? "(none)",
      String(packages),
      String(files),
      formatBytes(bytes),
    ]),
    ["Total", String(summary.packages), String(summary.files), formatBytes(summary.bytes)],
  );
}

function section(
  title: string,
  mentions: readonly PackageMention[],
  none: string,
  detail?: (mention: PackageMention) => string,
): string[] {
  if (mentions.length === 0) return [`${title}: ${none}`, ""];
  const rows = mentions
    .slice(0, MENTIONS_MAX)
    .map((mention) => [`  ${nameAndVersion(mention)}`, ...(detail ? [detail(mention)] : []), mention.path]);
  const more = mentions.length - rows.length;
  return [
    `${title} (${mentions.length}):`,
    ...alignColumns(rows),
    ...(more > 0 ? [`  … and ${more} more, in the table audit_packages`] : []),
    "",
  ];
}

function renderCheck(summary: AuditSummary, mismatches: readonly string[]): string[] {
  if (mismatches.length > 0) return ["The totals don't agree:", ...mismatches.map((line) => `  ${line}`)];
  const rows = `${summary.packages} ${plural(summary.packages, "row")}`;
  return [`Checked against the table: ${rows}, each package once, ${summary.bytes} bytes. The totals agree.`];
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const columns = (rows[0] ?? []).map(() => ({ title: "", align: "left" as const }));
  return textTable(columns, rows).slice(2);
}

function nameAndVersion({ name, version }: PackageMention): string {
  return version === null ? name : `${name}@${version}`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
