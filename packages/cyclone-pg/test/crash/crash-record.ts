import { runTransitions, transitions } from "../../src/engine/transitions.ts";
import { CrashCoverage } from "../support/crash-coverage.ts";
import { pointLabel } from "../support/crash-proxy/point-label.ts";
import type { ArmOptions } from "../support/crash-proxy.ts";
import { isPlanned, type Share } from "./coverage-plan.ts";
import type { CrashWorld } from "./crash-world.ts";

/** What the enumerations of one test file have cut, and the moves that the audit trail saw meanwhile. */
export class CrashRecord {
  readonly coverage = new CrashCoverage();
  readonly #moves = new Set<string>();
  readonly #labels = new Set<string>();

  /** Counts the points whose label matches; of the others it notes that they exist. */
  counting(points: RegExp): NonNullable<ArmOptions["only"]> {
    return (text, _connection, transaction) => {
      const label = pointLabel([text], transaction);
      this.#labels.add(label);
      return points.test(label);
    };
  }

  /** Adds the moves that a world's audit trail holds. */
  async addMoves(world: CrashWorld): Promise<void> {
    const { rows } = await world.database.query<SeenMove>(`
      select distinct key is null as run, old_state as from, new_state as to, statement as by, attempts - coalesce(old_attempts, 0) as charge
      from test_audit where old_state is distinct from new_state`);
    for (const row of rows) this.#moves.add(nameOfMove(row));
  }

  /**
   * What is missing of a file's share, or must not be there: one readable line each.
   *
   * @param share what the file has to cut and see
   */
  gaps(share: Share): string[] {
    const legal = tableOfMoves();
    const due = [...legal].filter(([, by]) => share.statements.includes(by)).map(([move]) => move);
    return [
      ...this.coverage.gaps(share.transitions),
      ...this.coverage.statementsNeverCut(share.statements).map((name) => `${name}: never cut on both sides`),
      ...share.others.filter((label) => !this.#isCut(label)).map((label) => `${label}: never cut on both sides`),
      ...[...this.#labels].filter((label) => !isPlanned(label)).map((label) => `in no file's share: ${label}`),
      ...[...this.#moves].filter((move) => !legal.has(move)).map((move) => `not in the table of transitions: ${move}`),
      ...due.filter((move) => !this.#moves.has(move)).map((move) => `never seen: ${move}`),
    ].sort();
  }

  #isCut(label: RegExp): boolean {
    const points = this.coverage.reports.flatMap((report) => report.points).filter((point) => label.test(point.label));
    return new Set(points.map((point) => point.side)).size === 2;
  }
}

interface SeenMove {
  readonly run: boolean;
  readonly from: string | null;
  readonly to: string;
  readonly by: string | null;
  readonly charge: number | null;
}

/** The moves of the engine's table, by name, each with the statement that makes it. */
function tableOfMoves(): Map<string, string> {
  const nodes = transitions.map(({ attempt, ...row }) => ({
    ...row,
    run: false,
    charge: attempt === "charged" || attempt === "counted" ? 1 : 0,
  }));
  const runs = runTransitions.map((row) => ({ ...row, run: true, charge: null }));
  return new Map([...nodes, ...runs].map((row) => [nameOfMove(row), row.by]));
}

function nameOfMove({ run, from, to, by, charge }: SeenMove): string {
  // A reset takes away what had been charged.
  const charged = charge === null || charge <= 0 ? "" : `, attempts + ${charge}`;
  return `${run ? "run" : "node"} ${from ?? "new"} → ${to} by ${by ?? "nobody"}${charged}`;
}
