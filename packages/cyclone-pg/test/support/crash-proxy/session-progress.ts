import type { Frame } from "./frame-splitter.ts";
import { beginsTransaction, endsTransaction, statementLabel } from "./point-label.ts";
import { SessionStatements } from "./session-statements.ts";

/** The end of a frontend batch, which the server will answer. */
export interface SyncPoint {
  readonly texts: readonly string[];
  readonly protocol: "simple" | "extended";
}

/** Frames that are sent on at once; the others are gathered until one of these, or a sync point, ends their batch. */
const sentAtOnce = new Set(["H", "d", "c", "f", "X", "p"]);
const syncPoints = new Set(["Q", "S", "F"]);

/**
 * Where one session stands: what its batches say, which of them the server has still to answer, and what its open
 * transaction has run. A `Mark` rides on a batch until its answer ends.
 */
export class SessionProgress<Mark> {
  readonly #statements = new SessionStatements();
  #unanswered: { readonly protocol: SyncPoint["protocol"]; readonly mark: Mark | undefined }[] = [];
  #transaction: string[] = [];
  #started = false;
  #copyIn: SyncPoint["protocol"] | undefined;
  #copyEnded = false;

  /** Labels of what ran since the session was last idle. */
  get transaction(): readonly string[] {
    return this.#transaction;
  }

  get allAnswered(): boolean {
    return this.#unanswered.length === 0;
  }

  /** The mark of a batch that isn't answered yet. */
  get mark(): Mark | undefined {
    return this.#unanswered.find((batch) => batch.mark !== undefined)?.mark;
  }

  /** What to do with a frontend frame (other than in start-up form): gather it, send the batch on, or it is a sync point. */
  frontend(frame: Frame): "gather" | "send" | SyncPoint {
    this.#statements.note(frame);
    if (this.#copyIn !== undefined && (frame.type === "c" || frame.type === "f")) {
      this.#copyEnded = true;
      // After an extended COPY a Sync follows, which is the point; after a simple one nothing does.
      if (this.#copyIn === "simple") return this.#syncPoint("simple");
    }
    if (syncPoints.has(frame.type)) return this.#syncPoint(frame.type === "S" ? "extended" : "simple");
    return sentAtOnce.has(frame.type) ? "send" : "gather";
  }

  /** Notes that a batch is sent to the server. */
  sent(point: SyncPoint, mark?: Mark): void {
    this.#unanswered.push({ protocol: point.protocol, mark });
    for (const text of point.texts) {
      if (beginsTransaction(text) || endsTransaction(text)) this.#transaction = [];
      if (!endsTransaction(text)) this.#transaction.push(statementLabel(text));
    }
  }

  /** Which batch's answer a backend frame belongs to, by its mark, and whether that ends with it. */
  backend(frame: Frame): { readonly mark: Mark | undefined; readonly ends: boolean } {
    const mark = this.#unanswered[0]?.mark;
    if (frame.type === "G" || frame.type === "W") {
      // COPY … FROM STDIN is answered by no ReadyForQuery: its Query (or Sync, which the server then ignores) ends here, and
      // the end of the data becomes a point of its own.
      this.#copyIn = this.#unanswered.shift()?.protocol ?? "extended";
      return { mark, ends: true };
    }
    if (frame.type !== "Z") return { mark, ends: false };
    // The first ReadyForQuery belongs to the start-up.
    if (!this.#started) {
      this.#started = true;
      return { mark, ends: false };
    }
    this.#copyIn = undefined;
    this.#unanswered.shift();
    if (this.allAnswered && frame.body.toString("latin1", 0, 1) === "I") this.#transaction = [];
    return { mark, ends: true };
  }

  #syncPoint(protocol: SyncPoint["protocol"]): SyncPoint {
    const batch = this.#statements.takeBatch();
    const texts = this.#copyEnded ? ["copy data"] : batch;
    this.#copyEnded = false;
    this.#copyIn = undefined;
    return { texts, protocol };
  }
}
