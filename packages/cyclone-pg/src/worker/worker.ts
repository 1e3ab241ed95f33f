import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Around } from "../builder/around.ts";
import type { DefinitionRuntime } from "../builder/definition.ts";
import { BorrowedConnections } from "../db/borrowed-connections.ts";
import { type ConnectionSource, newClient } from "../db/connection-source.ts";
import { isTransient } from "../db/database-errors.ts";
import { Session } from "../db/session.ts";
import type { ClaimedStep, StepPlace } from "../engine/claim/claimed-step.ts";
import type { Lease } from "../engine/lease.ts";
import type { EndedRun, Outcome, Settlement } from "../engine/outcome.ts";
import { ShutdownError } from "../errors/abort-errors.ts";
import type { Logger } from "../model/logger.ts";
import { lookUpCompletion } from "../sql/complete/look-up-completion.ts";
import type { Tables } from "../sql/tables.ts";
import { ActiveCall } from "./call/active-call.ts";
import { type CallEnvironment, runCall } from "./call/run-call.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { CompletionTransaction, type PreparedStatements } from "./completion-tx/completion-transaction.ts";
import type { ConnectionBudget } from "./connection-budget.ts";
import { longDelay } from "./long-timeout.ts";
import { endedItsRun, lostBecause } from "./lost-leases.ts";
import { Quarantine } from "./quarantine.ts";
import { Recorder } from "./recorder.ts";
import { LeaseKeeper } from "./renewal/lease-keeper.ts";
import { silenceMaxMs } from "./renewal/timing.ts";
import { Slots } from "./slots.ts";
import { Sweeper } from "./sweeper.ts";
import { Trimmer } from "./trimmer.ts";
import type { WorkerReports } from "./worker-reports.ts";

export interface WorkerOptions {
  readonly source: ConnectionSource;
  readonly tables: Tables;
  readonly schema: string;
  readonly bucketCount: number;
  readonly steps: ReadonlyMap<string, DefinitionRuntime>;
  readonly queues: ReadonlyMap<string, number>;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly maxBlockedMs: number;
  readonly maxPayloadBytes: number;
  readonly maxInputBytes: number;
  readonly retentionMs: number;
  readonly preparedStatements: PreparedStatements;
  readonly around: Around | undefined;
  readonly budget: ConnectionBudget;
  readonly log: Logger;
  readonly reports: WorkerReports;
  /** Other processes may want to know: steps have become available. */
  readonly onAvailable: () => void;
  /** Runs have ended by what this worker recorded. */
  readonly onEnded: (runs: readonly EndedRun[]) => void;
  /** Nodes that other processes may be running were cancelled. */
  readonly onStopped: () => void;
}

interface Member extends Settlement {
  /** `undefined` for what the sweep records: nobody here called a handler for it. */
  readonly call: ActiveCall | undefined;
  /** The step, if its reclaims are used up. */
  readonly exhausted?: StepPlace | undefined;
}

/** A statement that takes longer than half a lease, but at most 15 s, has met a connection that doesn't answer. */
const STATEMENT_LIMIT_MS = 15_000;
const STATEMENT_LIMIT_MIN_MS = 2_000;
const TX_ACQUIRE_LIMIT_MS = 60_000;
const GIVE_BACK_LIMIT_MS = 5_000;
/** Beyond a day nobody waits for a warning, and timers have a limit. */
const LONG_TX_WATCH_MAX_MS = 86_400_000;

/** One worker: claims steps, calls their handlers, keeps their leases, records their outcomes, sweeps. */
export class Worker {
  /** The client's identity as owner of leases, new in each process. */
  readonly id = randomUUID();
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #claimSession: Session;
  readonly #recordSession: Session;
  readonly #txConnections: BorrowedConnections;
  readonly #keeper: LeaseKeeper;
  readonly #quarantine: Quarantine;
  readonly #recorder: Recorder<Member>;
  readonly #claimLoop: ClaimLoop;
  readonly #sweeper: Sweeper;
  readonly #trimmer: Trimmer;
  readonly #environment: CallEnvironment;
  /** Calls whose outcome isn't recorded yet, by lease number. */
  readonly #calls = new Map<number, ActiveCall>();
  #nextLeaseId = 1;
  #preparedStatements: PreparedStatements;
  #stopping: Promise<void> | undefined;
  /** The database doesn't answer and the time for stopping is over. */
  #abandoned = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#preparedStatements = options.preparedStatements;
    const timeoutMs = Math.max(STATEMENT_LIMIT_MIN_MS, Math.min(options.leaseMs / 2, STATEMENT_LIMIT_MS));
    const session = (name: string): Session =>
      new Session({
        newClient: () => newClient(options.source.config, `cyclone ${name}`),
        tables: options.tables,
        timeoutMs,
        silenceMaxMs: silenceMaxMs(options.leaseMs),
      });
    this.#claimSession = session("claim");
    this.#recordSession = session("record");
    this.#slots = new Slots(options.concurrency, options.queues);
    this.#txConnections = new BorrowedConnections({
      config: options.source.config,
      applicationName: "cyclone completionTx",
      max: options.budget.completionTx,
      acquireTimeoutMs: TX_ACQUIRE_LIMIT_MS,
      purpose: "completionTx",
    });
    this.#keeper = this.#makeKeeper();
    this.#quarantine = new Quarantine({
      session: this.#claimSession,
      queues: [...options.queues.keys()],
      steps: [...options.steps.keys()],
      onIsolated: (runId, error) => options.reports.isolated(runId, error),
    });
    this.#recorder = this.#makeRecorder();
    this.#claimLoop = this.#makeClaimLoop();
    this.#sweeper = this.#makeSweeper();
    // On a connection that claiming and recording never wait for.
    this.#trimmer = new Trimmer({ ...options, pool: this.#txConnections.pool });
    this.#environment = this.#makeEnvironment(timeoutMs);
  }

  /** Claims nothing before leases can be renewed; a stop meanwhile ends the wait. */
  async start(): Promise<void> {
    await this.#keeper.start();
    if (this.#stopping !== undefined) return;
    this.#claimLoop.start();
    this.#sweeper.start();
    this.#trimmer.start();
  }

  /** There may be steps to claim. */
  wake(): void {
    this.#claimLoop.wake();
  }

  /** Some of our leases may have been taken away: a run was cancelled. */
  checkLeases(): void {
    if (this.#calls.size > 0) this.#keeper.renewNow();
  }

  /** Whether nothing is being claimed, called or recorded. */
  get idle(): boolean {
    return this.#calls.size === 0 && this.#slots.used === 0 && this.#recorder.size === 0 && !this.#claimLoop.claiming;
  }

  /**
   * Claims no more, waits for handlers up to `timeoutMs`, then fires their signals and gives their steps back. Leases are renewed
   * until the last outcome is recorded. Safe to call again: it is the same stop.
   */
  stop(timeoutMs: number): Promise<void> {
    this.#stopping ??= this.#stop(timeoutMs);
    return this.#stopping;
  }

  async #stop(timeoutMs: number): Promise<void> {
    this.#trimmer.quit();
    await Promise.all([this.#claimLoop.stop(), this.#sweeper.stop()]);
    await this.#untilCallsEnd(timeoutMs);
    if (this.#calls.size > 0) {
      for (const call of this.#calls.values()) call.abort(new ShutdownError());
      await this.#untilCallsEnd(GIVE_BACK_LIMIT_MS);
      this.#abandoned = true;
      this.#recorder.abandon();
    }
    await this.#recorder.idle();
    await Promise.all([this.#keeper.stop(), this.#trimmer.stop()]);
    await Promise.all([this.#claimSession.close(), this.#recordSession.close(), this.#txConnections.close()]);
  }

  async #untilCallsEnd(limitMs: number): Promise<void> {
    if (this.#calls.size === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#onCallEnded = () => {
        if (this.#calls.size === 0) resolve();
      };
    });
    const limit = new AbortController();
    await Promise.race([ended, longDelay(limitMs, limit.signal)]);
    limit.abort();
    this.#onCallEnded = undefined;
  }
  #onCallEnded: (() => void) | undefined;

  #begin(steps: readonly ClaimedStep[]): void {
    const calls = steps.map((step) => new ActiveCall(step, this.#nextLeaseId++));
    this.#keeper.add(
      calls.map(({ leaseId, step: { bucket, runId, key, item, epoch } }) => ({
        id: leaseId,
        bucket,
        runId,
        key,
        item,
        epoch,
      })),
    );
    for (const call of calls) {
      // Lanes are made of the handlers' names.
      const definition = this.#options.steps.get(call.step.step) as DefinitionRuntime;
      this.#calls.set(call.leaseId, call);
      this.#slots.take(call.step.queue);
      this.#options.reports.claimed(call.step);
      runCall(call, definition, this.#environment);
    }
  }

  #settled(call: ActiveCall): void {
    this.#slots.release(call.step.queue);
    this.#claimLoop.roomFreed();
  }

  #outcome(call: ActiveCall, outcome: Outcome | undefined): void {
    if (outcome === undefined) {
      this.#forget(call);
      if (!endedItsRun(call.abortReason)) this.#options.reports.leaseLost(call.step);
      return;
    }
    call.recording = true;
    const { bucket, runId, key, item, epoch } = call.step;
    this.#recorder.push({ lease: { bucket, runId, key, item, epoch }, outcome, call });
  }

  #recorded(member: Member, outcome: Outcome, moved: boolean): void {
    const { call, exhausted } = member;
    if (call !== undefined) {
      this.#forget(call);
      if (moved) this.#options.reports.recorded(call.step, outcome, performance.now() - call.startedAt);
      else this.#options.reports.leaseLost(call.step);
      this.#claimLoop.roomFreed();
    }
    if (exhausted !== undefined && moved) this.#options.reports.recorded(exhausted, outcome, 0);
    if (moved && outcome.kind === "release") this.#sweeper.lookIn(outcome.delayMs);
  }

  #forget(call: ActiveCall): void {
    this.#calls.delete(call.leaseId);
    this.#keeper.remove([call.leaseId]);
    call.onForgotten?.();
    this.#onCallEnded?.();
  }

  async #lost(ids: readonly number[], blockedMs: number | undefined): Promise<void> {
    // One whose outcome is under way learns from the database what came of it.
    const calls = ids.flatMap((id) => this.#calls.get(id) ?? []).filter((call) => !call.recording);
    const reasonOf = await lostBecause(
      this.#claimSession,
      calls.map((call) => call.step),
      blockedMs,
      this.#options.reports,
    );
    for (const call of calls) {
      if (!call.recording) call.forfeit(reasonOf(call.step));
    }
  }

  async #lookUpCommit(lease: Lease): Promise<boolean> {
    for (let waitMs = 50; ; waitMs = Math.min(2_000, waitMs * 2)) {
      try {
        const [row] = await this.#recordSession.run(lookUpCompletion, lease);
        if (row !== undefined) return row.state === "completed" && row.epoch === lease.epoch;
      } catch (error) {
        if (!isTransient(error) || this.#abandoned) throw error;
        this.#options.reports.trouble(error);
      }
      await delay(waitMs);
    }
  }

  #ended(runs: readonly EndedRun[]): void {
    for (const run of runs) this.#options.reports.ended(run);
    this.#options.onEnded(runs);
  }

  /** Running nodes of others, or of this worker, were cancelled. */
  #stopped(): void {
    this.checkLeases();
    this.#options.onStopped();
  }

  #makeKeeper(): LeaseKeeper {
    const { source, schema, leaseMs, maxBlockedMs, log, reports } = this.#options;
    return new LeaseKeeper({
      config: source.config,
      applicationName: "cyclone renewal",
      schema,
      leaseMs,
      maxBlockedMs,
      log,
      onLost: (ids, blockedMs) => void this.#lost(ids, blockedMs),
      onBlocked: (blockedMs) => reports.blocked(blockedMs),
    });
  }

  #makeRecorder(): Recorder<Member> {
    const { reports } = this.#options;
    return new Recorder<Member>({
      session: this.#recordSession,
      owner: this.id,
      onRecorded: (member, outcome, moved) => this.#recorded(member, outcome, moved),
      onActivated: () => {
        this.#claimLoop.wake();
        this.#options.onAvailable();
      },
      onEnded: (runs) => this.#ended(runs),
      onFailingFast: () => this.#sweeper.lookIn(0),
      onRefused: (member, error) => this.#quarantine.add(member.lease.runId, error),
      onTrouble: (error) => reports.trouble(error),
    });
  }

  #makeClaimLoop(): ClaimLoop {
    const { bucketCount, leaseMs, steps, reports } = this.#options;
    return new ClaimLoop({
      session: this.#claimSession,
      owner: this.id,
      leaseMs,
      bucketCount,
      inputBytesMax: this.#options.maxInputBytes,
      quarantine: this.#quarantine,
      queues: [...this.#options.queues.keys()],
      steps: [...steps.keys()],
      // What is being recorded has left its slot; as much again may be on the way, not more.
      freeSlots: () => Math.min(this.#slots.free, 2 * this.#options.concurrency - this.#calls.size),
      freeSlotsOf: (queue) => this.#slots.freeOf(queue),
      onClaimed: (claimed) => this.#begin(claimed),
      onTrouble: (error) => reports.trouble(error),
    });
  }

  #makeSweeper(): Sweeper {
    const { bucketCount, leaseMs, pollMs, reports } = this.#options;
    return new Sweeper({
      session: this.#claimSession,
      bucketCount,
      queues: [...this.#options.queues.keys()],
      steps: [...this.#options.steps.keys()],
      quarantine: this.#quarantine,
      leaseMs,
      pollMs,
      onAvailable: () => this.#claimLoop.wake(),
      onReleased: () => {
        this.#claimLoop.wake();
        this.#options.onAvailable();
      },
      onReclaimed: (rows) => reports.reclaimed(rows),
      record: (settlement, exhausted) => this.#recorder.push({ ...settlement, call: undefined, exhausted }),
      onEnded: (runs) => this.#ended(runs),
      onStopped: () => this.#stopped(),
      onTrouble: (error) => reports.trouble(error),
    });
  }

  #makeEnvironment(timeoutMs: number): CallEnvironment {
    const { tables, log, reports, leaseMs, maxPayloadBytes, maxInputBytes, around } = this.#options;
    return {
      log,
      maxPayloadBytes,
      maxInputBytes,
      around,
      beginTx: (isolation) =>
        CompletionTransaction.begin({
          connections: this.#txConnections,
          tables,
          isolation,
          timeoutMs,
          preparedStatements: this.#preparedStatements,
          onPrepareTrouble: () => {
            this.#preparedStatements = false;
          },
        }),
      onTxBegun: (call) => {
        if (leaseMs > LONG_TX_WATCH_MAX_MS) return;
        const timer = setTimeout(() => {
          if (!call.recording) reports.longTx(call.step, leaseMs);
        }, leaseMs);
        timer.unref();
        call.onForgotten = () => clearTimeout(timer);
      },
      onProgress: (call, fraction, message) => this.#keeper.progress(call.leaseId, fraction, message ?? null),
      lookUpCommit: (lease) => this.#lookUpCommit(lease),
      onOutcome: (call, outcome) => this.#outcome(call, outcome),
      onSettled: (call) => this.#settled(call),
      onStuck: (call) => reports.stuck(call.step),
    };
  }
}
