import { type Frame, readStrings } from "./frame-splitter.ts";

/**
 * What a session's frames say in SQL. A Bind names a prepared statement and an Execute names a portal, so the texts of
 * both are remembered: a statement that was parsed long ago is recognised when it runs again.
 */
export class SessionStatements {
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, string>();
  #executed: string[] = [];
  #prepared: string[] = [];

  /** Notes one frontend frame of the batch that is being gathered. */
  note(frame: Frame): void {
    switch (frame.type) {
      case "Q":
        this.#executed.push(...readStrings(frame.body, 1));
        return;
      case "P": {
        const [name = "", text = ""] = readStrings(frame.body, 2);
        this.#statements.set(name, text);
        this.#prepared.push(text);
        return;
      }
      case "B": {
        const [portal = "", name = ""] = readStrings(frame.body, 2);
        this.#portals.set(portal, this.#statements.get(name) ?? `(unknown statement ${name})`);
        return;
      }
      case "E": {
        const [portal = ""] = readStrings(frame.body, 1);
        this.#executed.push(this.#portals.get(portal) ?? `(unknown portal ${portal})`);
        return;
      }
      case "C": {
        const [name = ""] = readStrings(frame.body.subarray(1), 1);
        (frame.body[0] === 0x53 ? this.#statements : this.#portals).delete(name);
        return;
      }
      default:
    }
  }

  /** The texts of the batch that ends here: what it executes, or what it only prepares; empty for a bare Sync. */
  takeBatch(): readonly string[] {
    const texts = this.#executed.length > 0 ? this.#executed : this.#prepared;
    this.#executed = [];
    this.#prepared = [];
    return texts;
  }
}
