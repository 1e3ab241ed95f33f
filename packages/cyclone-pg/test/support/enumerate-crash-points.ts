import type { CrashCoverage } from "./crash-coverage.ts";
import { type CrashSubject, runCrashCase } from "./crash-proxy/crash-case.ts";
import { type CrashProxy, type CrashSide, startCrashProxy } from "./crash-proxy.ts";

export type { CrashSubject } from "./crash-proxy/crash-case.ts";

export interface CrashEnumeration extends CrashSubject {
  /**
   * `order`: the first point of all, the second … : for an operation that takes the same course each time. `label`: for each
   * label of the uncut run the first point with it, the second … : for one that does several things at the same time, whose
   * points come in another order each time. @default "order"
   */
  readonly by?: "order" | "label";
  /** @default both */
  readonly sides?: readonly CrashSide[];
  /** More points in a row than this are a mistake. @default 500 */
  readonly pointsMax?: number;
  /** Where the report is added. */
  readonly coverage?: CrashCoverage;
}

/** What one cut led to. */
export interface CrashCase {
  readonly k: number;
  readonly side: CrashSide;
  readonly label: string;
  /** How the operation failed, if it did; not a violation. */
  readonly error: string | undefined;
  readonly violations: readonly string[];
}

export interface CrashReport {
  readonly transition: string;
  readonly points: readonly CrashCase[];
  /** The labels of the run that was recorded and not cut, in order. */
  readonly uncut: readonly string[];
  /** What the uncut run has and no cut hit. */
  readonly neverCut: readonly { readonly side: CrashSide; readonly label: string }[];
  /** Those of all points, each with its place. */
  readonly violations: readonly string[];
}

/** How often a label that the uncut run had is looked for: it may be missing from one run of a busy operation. */
const triesPerLabel = 3;

/**
 * Cuts an operation at its first sync point, its second, and so on until it passes uncut, on both sides; after each cut it
 * recovers and checks.
 *
 * @throws what the operation throws when it wasn't cut
 */
export async function enumerateCrashPoints(enumeration: CrashEnumeration): Promise<CrashReport> {
  const { transition, target, by = "order", sides = ["before", "after"] } = enumeration;
  await using proxy = await startCrashProxy({ target });
  const recording = await runCrashCase(proxy, enumeration, [{ k: 0, side: "before" }]);
  const uncut = proxy.points.map((point) => point.label);
  const points: CrashCase[] = [];
  const violations = recording.violations.map((text) => `${transition}, uncut: ${text}`);
  for (const side of sides) {
    for (const label of by === "label" ? new Set(uncut) : [undefined]) {
      const series = await cutSeries(proxy, enumeration, side, label);
      points.push(...series.points);
      violations.push(...series.violations);
    }
  }
  const neverCut = sides.flatMap((side) => {
    const cut = points.filter((point) => point.side === side).map((point) => point.label);
    const gaps = by === "label" ? [...new Set(uncut)].filter((label) => !cut.includes(label)) : missing(uncut, cut);
    return gaps.map((label) => ({ side, label }));
  });
  const report = { transition, points, uncut, neverCut, violations };
  enumeration.coverage?.add(report);
  return report;
}

/** Cuts at k = 1, 2 … (of a label, or of all points) until the operation passes uncut. */
async function cutSeries(
  proxy: CrashProxy,
  enumeration: CrashEnumeration,
  side: CrashSide,
  label: string | undefined,
): Promise<{ points: CrashCase[]; violations: string[] }> {
  const { transition, pointsMax = 500 } = enumeration;
  const points: CrashCase[] = [];
  const violations: string[] = [];
  const triesMax = label === undefined ? 1 : triesPerLabel;
  for (let tries = 0; tries < triesMax && (tries === 0 || points.length === 0); tries++) {
    for (let k = 1; ; k++) {
      if (k > pointsMax) throw new Error(`${transition} has more than ${pointsMax} points; is something idle counted?`);
      const place = { k, side, ...(label !== undefined && { label }) };
      const { cuts, error, violations: seen } = await runCrashCase(proxy, enumeration, [place]);
      const [cut] = cuts;
      const where = cut === undefined ? "uncut" : `cut ${side} ${label === undefined ? "point" : "no."} ${k} "${cut}"`;
      violations.push(...seen.map((text) => `${transition}, ${where}: ${text}`));
      if (cut === undefined) break;
      points.push({ k, side, label: cut, error, violations: seen });
    }
  }
  return { points, violations };
}

/** The members of `all` that `some` lacks, counting repeats. */
function missing(all: readonly string[], some: readonly string[]): string[] {
  const left = [...some];
  return all.filter((label) => {
    const at = left.indexOf(label);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
