import type { CrashReport } from "./enumerate-crash-points.ts";

/**
 * Collects the reports of a test file, so that its last test can fail when a transition wasn't enumerated, or has points
 * that were never cut.
 */
export class CrashCoverage {
  readonly #reports: CrashReport[] = [];

  add(report: CrashReport): void {
    this.#reports.push(report);
  }

  get reports(): readonly CrashReport[] {
    return this.#reports;
  }

  /** What is missing, one readable line each; empty if every point of each of these transitions was cut. */
  gaps(transitions: readonly string[]): string[] {
    const enumerated = new Set(this.#reports.map((report) => report.transition));
    const absent = transitions.filter((transition) => !enumerated.has(transition));
    const empty = this.#reports.filter((report) => report.uncut.length === 0);
    return [
      ...absent.map((transition) => `${transition}: never enumerated`),
      ...empty.map((report) => `${report.transition}: its uncut run has no point`),
      ...this.#reports.flatMap((report) =>
        report.neverCut.map(({ side, label }) => `${report.transition}: never cut ${side} "${label}"`),
      ),
    ];
  }

  /** Those statements (by name) that no report has cut on both sides. */
  statementsNeverCut(names: readonly string[]): string[] {
    const cut = (side: string, name: string): boolean =>
      this.#reports.some((report) =>
        report.points.some((point) => point.side === side && point.label.split("; ").includes(name)),
      );
    return names.filter((name) => !cut("before", name) || !cut("after", name));
  }
}
