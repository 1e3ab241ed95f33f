import { setTimeout as wait } from "node:timers/promises";
import type { ConnectionInfo } from "./crash-trigger.ts";

export type ConnectionFilter = (connection: ConnectionInfo) => boolean;

/** What the network does to bytes at the moment: one fault at a time, for all connections or some. */
export interface NetworkFaults {
  /** Every chunk waits so long, one after another in each direction. */
  delay(ms: number, where?: ConnectionFilter): void;
  /** Nothing moves, nothing is lost: `heal` delivers it. */
  pause(where?: ConnectionFilter): void;
  /** What is sent is lost without an error, also by new connections. `heal` resets the connections that lost something. */
  blackHole(where?: ConnectionFilter): void;
  /** New connections are closed at once. */
  refuse(): void;
  /** Ends delay, pause, black hole and refusal. */
  heal(): void;
}

type Fault =
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "pause" }
  | { readonly kind: "blackHole" };

/** The gate that each chunk passes before it is looked at. */
export class NetworkGate implements NetworkFaults {
  refusing = false;
  #fault: Fault | undefined;
  #where: ConnectionFilter | undefined;
  #healed: Promise<void> = Promise.resolve();
  #heal: () => void = () => {};
  readonly #lossy = new Map<ConnectionInfo["id"], () => void>();

  delay(ms: number, where?: ConnectionFilter): void {
    this.#begin({ kind: "delay", ms }, where);
  }

  pause(where?: ConnectionFilter): void {
    this.#begin({ kind: "pause" }, where);
  }

  blackHole(where?: ConnectionFilter): void {
    this.#begin({ kind: "blackHole" }, where);
  }

  refuse(): void {
    this.refusing = true;
  }

  heal(): void {
    this.refusing = false;
    this.#fault = undefined;
    for (const reset of this.#lossy.values()) reset();
    this.#lossy.clear();
    this.#heal();
  }

  /** Waits as long as the fault says. Returns whether the chunk (or the end of the stream) arrives at all. */
  async pass(connection: ConnectionInfo, reset: () => void): Promise<boolean> {
    while (this.#fault !== undefined && this.#where?.(connection) !== false) {
      if (this.#fault.kind === "delay") {
        await wait(this.#fault.ms);
        break;
      }
      if (this.#fault.kind === "blackHole") {
        this.#lossy.set(connection.id, reset);
        return false;
      }
      await this.#healed;
    }
    return !this.#lossy.has(connection.id);
  }

  #begin(fault: Fault, where: ConnectionFilter | undefined): void {
    this.#heal();
    this.#fault = fault;
    this.#where = where;
    this.#healed = new Promise((resolve) => {
      this.#heal = resolve;
    });
  }
}
