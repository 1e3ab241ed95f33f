import { setTimeout as wait } from "node:timers/promises";
import { inspect } from "node:util";
import type { CrashProxy } from "../crash-proxy.ts";
import { type Violation, violationText } from "../violation.ts";
import type { ArmOptions, CrashSide } from "./crash-trigger.ts";

/** A transition that is cut, brought to rest again, and checked. */
export interface CrashSubject extends Pick<ArmOptions, "only" | "scope" | "refuseForMs" | "kill"> {
  /** What the report is called. */
  readonly transition: string;
  /** The server's own URL. */
  readonly target: string;
  /**
   * What is cut: begins on data of its own each time, and does all of its work by way of `url`. It may fail when it was cut.
   * First called with k = 0, and not cut.
   */
  readonly operation: (url: string, k: number, side: CrashSide) => Promise<void>;
  /** Brings the system to rest after a cut, as another worker would. */
  readonly recover?: (url: string, k: number, side: CrashSide) => Promise<void>;
  /** What is wrong afterwards. */
  readonly check: (k: number, side: CrashSide) => Promise<readonly (Violation | string)[]>;
  /** How long the operation, or its recovery, may take before it counts as hung. @default 20,000 */
  readonly limitMs?: number;
}

/** Where to cut; k = 0 is nowhere. */
export interface CrashPlace {
  readonly k: number;
  readonly side: CrashSide;
  /** Absent: the k-th point of all; else the k-th with this label. */
  readonly label?: string;
}

/** What a case led to; its first cut stands for it. */
export interface CrashOutcome {
  /** The labels of the points that were cut, one for each place; undefined: the work passed uncut. */
  readonly cuts: readonly (string | undefined)[];
  /** How the operation failed, if it did; not a violation when it was cut. */
  readonly error: string | undefined;
  readonly violations: readonly string[];
}

/**
 * Runs the operation with a cut at the first place, and a recovery with a cut at each further one; then a recovery without a
 * cut, and the check.
 *
 * @throws what the operation throws when it wasn't cut
 */
export async function runCrashCase(
  proxy: CrashProxy,
  subject: CrashSubject,
  places: readonly [CrashPlace, ...CrashPlace[]],
): Promise<CrashOutcome> {
  const [place, ...further] = places;
  const first = await runCut(proxy, subject, "operation", place, place);
  if (first.cut === undefined && first.failed) throw first.error;
  const cuts = [first.cut];
  const violations = [...first.violations];
  if (first.cut !== undefined) {
    for (const again of further) {
      const next = await runCut(proxy, subject, "recovery", place, again);
      cuts.push(next.cut);
      violations.push(...next.violations);
    }
    const last = await runCut(proxy, subject, "recovery", place, { k: 0, side: place.side });
    violations.push(...last.violations);
    if (last.failed) violations.push(`the recovery failed: ${inspect(last.error)}`);
  }
  violations.push(...(await subject.check(place.k, place.side)).map(violationText));
  return { cuts, error: first.failed ? inspect(first.error) : undefined, violations };
}

interface Run {
  readonly cut: string | undefined;
  readonly failed: boolean;
  readonly error: unknown;
  readonly violations: readonly string[];
}

/** One run of the operation or the recovery, cut `at` a point; returns when the server has let go of what was cut. */
async function runCut(
  proxy: CrashProxy,
  subject: CrashSubject,
  what: "operation" | "recovery",
  place: CrashPlace,
  at: CrashPlace,
): Promise<Run> {
  const { only, scope, refuseForMs, limitMs = 20_000 } = subject;
  const kill = what === "operation" ? subject.kill : undefined;
  const armed = proxy.arm({
    side: at.side,
    ...(at.k > 0 && { point: at.k }),
    ...(at.label !== undefined && { label: at.label }),
    ...(only && { only }),
    ...(scope && { scope }),
    ...(refuseForMs !== undefined && { refuseForMs }),
    ...(kill && { kill }),
  });
  const work = what === "operation" ? subject.operation : subject.recover;
  const ended = await within(limitMs, work?.(proxy.url, place.k, place.side) ?? Promise.resolve());
  const violations: string[] = [];
  if (ended === "hung") {
    violations.push(`the ${what} didn't end within ${limitMs} ms`);
    proxy.network.reset();
  }
  if ((await within(limitMs, armed.settled())) === "hung") violations.push(`the cut wasn't made within ${limitMs} ms`);
  // A killed process had other connections too, perhaps.
  if (kill !== undefined && armed.fired) await proxy.quiet().catch(() => {});
  const failed = typeof ended === "object";
  return { cut: armed.cut?.label, failed, error: failed ? ended.error : undefined, violations };
}

async function within(limitMs: number, work: Promise<void>): Promise<"hung" | "done" | { readonly error: unknown }> {
  const limit = new AbortController();
  const late = wait(limitMs, "hung" as const, { signal: limit.signal }).catch(() => "done" as const);
  const ended = work.then(
    () => "done" as const,
    (error: unknown) => ({ error }),
  );
  const outcome = await Promise.race([ended, late]);
  limit.abort();
  return outcome;
}
