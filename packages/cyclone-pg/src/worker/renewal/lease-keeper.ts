import { Worker } from "node:worker_threads";
import type { PoolConfig } from "pg";
import { newClient } from "../../db/connection-source.ts";
import { Session } from "../../db/session.ts";
import type { Logger } from "../../model/logger.ts";
import { tablesOf } from "../../sql/tables.ts";
import type { FromRenewal, NumberedLease, RenewalSetup, ToRenewal } from "./messages.ts";
import { RenewalLoop } from "./renewal-loop.ts";
import { RENEWAL_THREAD_SOURCE } from "./renewal-thread-source.generated.ts";
import { renewalTimeoutMs } from "./timing.ts";

export interface LeaseKeeperOptions {
  readonly config: PoolConfig;
  readonly applicationName: string;
  readonly schema: string;
  readonly leaseMs: number;
  readonly maxBlockedMs: number;
  readonly log: Logger;
  /** `blockedMs`: they were given up because the main loop didn't run for so long. */
  readonly onLost: (ids: readonly number[], blockedMs: number | undefined) => void;
  /** The main loop didn't run for so long. */
  readonly onBlocked: (blockedMs: number) => void;
}

const BEAT_MS = 250;
const BLOCKED_MS = 5_000;

/** The main loop's side of the renewal: leases go in when they are claimed and out when their outcome is recorded. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #beat = new SharedArrayBuffer(8);
  #thread: Worker | undefined;
  #loop: RenewalLoop | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #exited: Promise<void> | undefined;
  #stopping = false;
  #lastBlockedMs = 0;
  #onReady: () => void = () => undefined;
  readonly #held = new Map<number, NumberedLease>();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Resolves once leases can be renewed; a database that is away is waited for. */
  start(): Promise<void> {
    this.#tick(performance.now());
    return new Promise((resolve) => {
      this.#onReady = resolve;
      this.#startThread();
    });
  }

  /** At once after the claim, before any handler is called: from then on the event loop may be blocked. */
  add(leases: readonly NumberedLease[]): void {
    for (const lease of leases) this.#held.set(lease.id, lease);
    if (this.#loop !== undefined) this.#loop.add(leases);
    else this.#send({ kind: "add", leases });
  }

  remove(ids: readonly number[]): void {
    for (const id of ids) this.#held.delete(id);
    if (this.#loop !== undefined) this.#loop.remove(ids);
    else this.#send({ kind: "remove", ids });
  }

  progress(id: number, fraction: number, message: string | null): void {
    if (this.#loop !== undefined) this.#loop.progress(id, fraction, message);
    else this.#send({ kind: "progress", id, fraction, message });
  }

  /** At once, to learn which leases are gone. */
  renewNow(): void {
    if (this.#loop !== undefined) this.#loop.renewNow();
    else this.#send({ kind: "renew" });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#onReady();
    clearTimeout(this.#beatTimer);
    await this.#loop?.stop();
    if (this.#thread === undefined) return;
    this.#send({ kind: "stop" });
    const limit = setTimeout(() => void this.#thread?.terminate(), 2_000);
    await this.#exited;
    clearTimeout(limit);
  }

  #tick(previous: number): void {
    Atomics.store(new BigInt64Array(this.#beat), 0, process.hrtime.bigint());
    this.#beatTimer = setTimeout(() => {
      const now = performance.now();
      const blockedMs = Math.round(now - previous - BEAT_MS);
      if (blockedMs > BLOCKED_MS || blockedMs > this.#options.maxBlockedMs) {
        this.#lastBlockedMs = blockedMs;
        this.#options.onBlocked(blockedMs);
      }
      this.#tick(now);
    }, BEAT_MS);
    this.#beatTimer.unref();
  }

  #startThread(): void {
    const { config } = this.#options;
    const asksForPassword = typeof config.password === "function";
    try {
      const setup: RenewalSetup = {
        config: cloneable(config),
        asksForPassword,
        applicationName: this.#options.applicationName,
        schema: this.#options.schema,
        leaseMs: this.#options.leaseMs,
        maxBlockedMs: this.#options.maxBlockedMs,
        beat: this.#beat,
      };
      const thread = new Worker(RENEWAL_THREAD_SOURCE, {
        eval: true,
        workerData: setup,
        name: "cyclone-renewal",
        execArgv: [],
      });
      this.#thread = thread;
      thread.on("message", (message: FromRenewal) => this.#receive(message));
      thread.on("error", (error) => this.#fallBack(error));
      this.#exited = new Promise((resolve) => thread.once("exit", () => resolve()));
    } catch (error) {
      this.#fallBack(error);
    }
  }

  #receive(message: FromRenewal): void {
    switch (message.kind) {
      case "lost":
        return this.#options.onLost(message.ids, message.blocked ? this.#lastBlockedMs : undefined);
      case "failed":
        return this.#options.log.warn("Renewing leases failed; trying again.", {
          error: message.message,
          code: message.code,
        });
      case "ask-password":
        return void this.#answerPassword();
      case "connected":
        return this.#onReady();
      case "stopped":
        return void this.#thread?.terminate();
    }
  }

  async #answerPassword(): Promise<void> {
    try {
      const { password } = this.#options.config;
      this.#send({ kind: "password", password: typeof password === "function" ? await password() : (password ?? "") });
    } catch (error) {
      this.#send({ kind: "no-password", message: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Without a thread the main loop renews: a handler that computes for longer than a lease then loses it. */
  #fallBack(error: unknown): void {
    this.#thread = undefined;
    if (this.#stopping || this.#loop !== undefined) return;
    this.#options.log.warn(
      "No thread for renewing leases: the main loop renews them, so a handler that blocks it for longer than a lease loses it.",
      {
        error: error instanceof Error ? error.message : String(error),
      },
    );
    const { leaseMs } = this.#options;
    this.#loop = new RenewalLoop({
      session: new Session({
        newClient: () => newClient(this.#options.config, this.#options.applicationName),
        tables: tablesOf(this.#options.schema),
        timeoutMs: renewalTimeoutMs(leaseMs),
      }),
      leaseMs,
      givenUp: () => false,
      onLost: (ids) => this.#options.onLost(ids, undefined),
      onReady: () => this.#onReady(),
      onFailure: (failure) =>
        this.#options.log.warn("Renewing leases failed; trying again.", { error: String(failure) }),
    });
    this.#loop.add([...this.#held.values()]);
    this.#loop.start();
  }

  #send(message: ToRenewal): void {
    this.#thread?.postMessage(message);
  }
}

/** The configuration as it may travel to a thread. @throws DataCloneError where it holds functions, sockets or the like */
function cloneable(config: PoolConfig): PoolConfig {
  const { password, ...rest } = config;
  return structuredClone({ ...rest, ...(typeof password === "string" ? { password } : {}) });
}
