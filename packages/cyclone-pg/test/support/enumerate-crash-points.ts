import type { CrashCoverage } from "./crash-coverage.ts";
import { type CrashSubject, runCrashCase } from "./crash-proxy/crash-case.ts";
import { type CrashSide, startCrashProxy } from "./crash-proxy.ts";

export type { CrashSubject } from "./crash-proxy/crash-case.ts";

export interface CrashEnumeration extends CrashSubject {
  /** @default both */
  readonly sides?: readonly CrashSide[];
  /** More points than this are a mistake. @default 500 */
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

/**
 * Cuts an operation at its first sync point, its second, and so on until it passes uncut, on both sides; after each cut it
 * recovers and checks.
 *
 * @throws what the operation throws when it wasn't cut
 */
export async function enumerateCrashPoints(enumeration: CrashEnumeration): Promise<CrashReport> {
  const { transition, target, pointsMax = 500, sides = ["before", "after"] } = enumeration;
  await using proxy = await startCrashProxy({ target });
  const recording = await runCrashCase(proxy, enumeration, [{ k: 0, side: "before" }]);
  const uncut = proxy.points.map((point) => point.label);
  const points: CrashCase[] = [];
  const violations = recording.violations.map((text) => `${transition}, uncut: ${text}`);
  for (const side of sides) {
    for (let k = 1; ; k++) {
      if (k > pointsMax) throw new Error(`${transition} has more than ${pointsMax} points; is something idle counted?`);
      const { cuts, error, violations: seen } = await runCrashCase(proxy, enumeration, [{ k, side }]);
      const [label] = cuts;
      const place = label === undefined ? "uncut" : `cut ${side} point ${k} "${label}"`;
      violations.push(...seen.map((text) => `${transition}, ${place}: ${text}`));
      if (label === undefined) break;
      points.push({ k, side, label, error, violations: seen });
    }
  }
  const neverCut = sides.flatMap((side) => {
    const labels = points.filter((point) => point.side === side).map((point) => point.label);
    return missing(uncut, labels).map((label) => ({ side, label }));
  });
  const report = { transition, points, uncut, neverCut, violations };
  enumeration.coverage?.add(report);
  return report;
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
