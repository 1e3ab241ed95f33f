import { pointLabel } from "./point-label.ts";

/** *before*: the server never sees the batch. *after*: the server executes it, and its answer never arrives. */
export type CrashSide = "before" | "after";

/** Who a connection is, from its StartupMessage; empty until that has come. */
export interface ConnectionInfo {
  readonly id: number;
  readonly user: string;
  readonly database: string;
  readonly applicationName: string;
}

/** A sync point that was counted: the end of a frontend batch, which the server answers with ReadyForQuery. */
export interface CrashPoint {
  /** 1-based, over all connections. */
  readonly k: number;
  readonly label: string;
  readonly texts: readonly string[];
  readonly connection: ConnectionInfo;
}

export interface ArmOptions {
  /** The point to act at, from 1. Absent: none; points are only recorded. */
  point?: number;
  /** @default "before" */
  side?: CrashSide;
  /**
   * Which batches count, by the texts of their statements (joined by line breaks), so that idle polls, renewals and listeners
   * can be left out. `transaction` holds the labels of what the session's open transaction has run: a COMMIT says nothing else.
   * @default all
   */
  only?: (text: string, connection: ConnectionInfo, transaction: readonly string[]) => boolean;
  /** Counts only the points with this label, so that `point` is the n-th of them. @default all */
  label?: string;
  /** Cut every connection at the point, or only the one that reached it. @default "connection" */
  scope?: "connection" | "all";
  /** Refuse new connections for so long after the cut. @default 0 */
  refuseForMs?: number;
  /** Instead of cutting, kill -9 this process; undefined: nothing to kill. */
  kill?: () => number | undefined;
  /** Instead of cutting, hold the connection at the point until {@link Armed.release}. */
  hold?: boolean;
}

/** The state of one {@link ArmOptions}. */
export interface Armed {
  /** Whether the point was reached, and the cut made. */
  readonly fired: boolean;
  /** Where it was cut. */
  readonly cut: CrashPoint | undefined;
  /** The points counted since arming, in order. */
  readonly points: readonly CrashPoint[];
  /** Resolves once it has fired; with `hold`, once the connection is held there. */
  readonly reached: Promise<CrashPoint>;
  /** Once fired: resolves when the server's ends of the cut connections are gone, with their locks. At once if not fired. */
  settled(): Promise<void>;
  /** Lets a held connection go on. */
  release(): void;
}

/** Counts sync points over all connections, and says which is the one. */
export class CrashTrigger implements Armed {
  readonly options: ArmOptions;
  readonly points: CrashPoint[] = [];
  readonly reached: Promise<CrashPoint>;
  readonly released: Promise<void>;
  cut: CrashPoint | undefined;
  fired = false;
  disarmed = false;
  #resolveReached: (point: CrashPoint) => void = () => {};
  #resolveReleased: () => void = () => {};
  #gone: Promise<unknown> = Promise.resolve();

  constructor(options: ArmOptions) {
    this.options = options;
    this.reached = new Promise((resolve) => {
      this.#resolveReached = resolve;
    });
    this.released = new Promise((resolve) => {
      this.#resolveReleased = resolve;
    });
  }

  /** Counts a batch that is about to be forwarded. Returns the point if this is where to act. */
  count(texts: readonly string[], connection: ConnectionInfo, transaction: readonly string[]): CrashPoint | undefined {
    if (this.disarmed || this.cut !== undefined) return undefined;
    if (this.options.only?.(texts.join("\n"), connection, transaction) === false) return undefined;
    const label = pointLabel(texts, transaction);
    if (this.options.label !== undefined && this.options.label !== label) return undefined;
    const point = { k: this.points.length + 1, label, texts, connection };
    this.points.push(point);
    if (point.k !== this.options.point) return undefined;
    this.cut = point;
    return point;
  }

  get side(): CrashSide {
    return this.options.side ?? "before";
  }

  /** Marks it as fired; `gone` resolves when the server's ends of the cut connections are. */
  fire(point: CrashPoint, gone: Promise<unknown>): void {
    this.fired = true;
    this.#gone = gone;
    this.#resolveReached(point);
  }

  async settled(): Promise<void> {
    if (this.cut === undefined) return;
    await this.reached;
    await this.#gone;
  }

  release(): void {
    this.#resolveReleased();
  }
}
