/** A column: its title, and whether its cells stand to the right, as numbers do. */
export interface Column {
  readonly title: string;
  readonly align: "left" | "right";
}

/** Lays rows out in columns as wide as their widest cell, under a title line. `footer` stands below a line of its own. */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  footer?: readonly string[],
): string[] {
  const all = [columns.map(({ title }) => title), ...rows, ...(footer ? [footer] : [])];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => widthOf(row[index] ?? ""))));
  const layOut = (row: readonly string[]) =>
    columns
      .map(({ align }, index) => pad(row[index] ?? "", widths[index] ?? 0, align))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  const [title = [], ...body] = all;
  const lines = [layOut(title), rule, ...body.slice(0, rows.length).map(layOut)];
  return footer ? [...lines, rule, layOut(footer)] : lines;
}

function pad(text: string, width: number, align: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? text + space : space + text;
}

function widthOf(text: string): number {
  return Array.from(text).length;
}
