import { type CrashPlace, type CrashSubject, runCrashCase } from "./crash-proxy/crash-case.ts";
import { type CrashSide, startCrashProxy } from "./crash-proxy.ts";

export interface CrashPairs extends CrashSubject {
  readonly recover: NonNullable<CrashSubject["recover"]>;
  /** How many pairs. */
  readonly samples: number;
  /** Decides the pairs; each violation prints it. */
  readonly seed: number;
}

/** Two faults in a row: the operation is cut at one point, and its recovery at another. */
export interface CrashPairsReport {
  readonly pairs: readonly {
    readonly first: CrashPlace;
    readonly second: CrashPlace;
    /** The labels of what was cut: one if the recovery passed before its point. */
    readonly cuts: readonly string[];
  }[];
  readonly violations: readonly string[];
}

/** Samples pairs of cuts by seed: all of them would be the square of what one cut takes. */
export async function sampleCrashPairs(options: CrashPairs): Promise<CrashPairsReport> {
  const { transition, target, samples, seed } = options;
  const random = seededRandom(seed);
  const pick = (max: number): CrashPlace => ({
    k: 1 + Math.floor(random() * max),
    side: (random() < 0.5 ? "before" : "after") satisfies CrashSide,
  });
  await using proxy = await startCrashProxy({ target });
  const violations = [...(await runCrashCase(proxy, options, [{ k: 0, side: "before" }])).violations];
  const operationPoints = proxy.points.length;
  // The recovery after a cut at the first point has the most to do.
  violations.push(...(await runCrashCase(proxy, options, [{ k: 1, side: "before" }])).violations);
  const recoveryPoints = proxy.points.length;
  const pairs: CrashPairsReport["pairs"][number][] = [];
  for (let sample = 0; sample < samples; sample++) {
    const first = pick(operationPoints);
    const second = pick(recoveryPoints);
    const outcome = await runCrashCase(proxy, options, [first, second]);
    const cuts = outcome.cuts.filter((label) => label !== undefined);
    pairs.push({ first, second, cuts });
    const place = `seed ${seed}, sample ${sample}: cut ${first.side} point ${first.k}, then ${second.side} point ${second.k}`;
    violations.push(...outcome.violations.map((text) => `${transition}, ${place} (${cuts.join(" | ")}): ${text}`));
  }
  return { pairs, violations };
}

/** Numbers in [0, 1) that depend on the seed only (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
