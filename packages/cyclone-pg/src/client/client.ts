import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { ClientLike, ClientPort } from "../builder/client-port.ts";
import { CLIENT_PORT } from "../builder/client-port.ts";
import { type Definition, definitionOf, type OutputOf } from "../builder/definition.ts";
import type { Run } from "../builder/run.ts";
import type { BorrowedConnections } from "../db/borrowed-connections.ts";
import { channelOf } from "../db/channel.ts";
import { newClient } from "../db/connection-source.ts";
import { Listener } from "../db/listener.ts";
import { Notifier } from "../db/notifier.ts";
import type { EndedRun } from "../engine/outcome.ts";
import { ClientStoppedError } from "../errors/client-stopped-error.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { ProducerOnlyError } from "../errors/producer-only-error.ts";
import { type Duration, toMilliseconds } from "../model/duration.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import { notify } from "../sql/notify/notify.ts";
import { type Tables, tablesOf } from "../sql/tables.ts";
import { connectionBudget } from "../worker/connection-budget.ts";
import { Worker } from "../worker/worker.ts";
import { clientPort } from "./client-port.ts";
import { drained } from "./drained.ts";
import { type ClientEvents, type EventName, Events } from "./events.ts";
import { Installation } from "./installation.ts";
import { migrateDatabase } from "./migrate-database.ts";
import { type ClientOptions, type ResolvedClientOptions, resolveClientOptions } from "./options.ts";
import { ownConnections } from "./own-connections.ts";
import { Queues } from "./queues.ts";
import { workerReports } from "./reports.ts";
import { CLIENT_READER, RunHandle, type RunReader } from "./run-handle.ts";
import { Runs } from "./runs.ts";
import { Starter } from "./start-runs.ts";
import { Statements } from "./statements.ts";
import { readStats, type Stats } from "./stats.ts";
import { Steering } from "./steering.ts";
import { Waiter } from "./waiter.ts";

const STOP_TIMEOUT = "25s";
const PROBE_MAX_MS = 15_000;

/** A broken idle connection is gone from its pool already; without a listener the event would end the process. */
const ignored = (): void => undefined;

/** Connects to nothing yet. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`); an unknown key gets a suggestion */
export function createClient(options: ClientOptions): Client {
  return new Client(options);
}

/** What submits and reads runs, and, once it is started, works. */
export class Client implements ClientLike, AsyncDisposable {
  readonly #options: ResolvedClientOptions;
  readonly #tables: Tables;
  readonly #channel: string;
  readonly #tag = randomBytes(6).toString("hex");
  readonly #events: Events;
  readonly #ownConnections: BorrowedConnections | undefined;
  readonly #statements: Statements;
  readonly #installation: Installation;
  readonly #notifier: Notifier;
  readonly #listener: Listener;
  readonly #waiter: Waiter;
  readonly #starter: Starter;
  readonly #steering: Steering;
  /** Lists runs, and cancels and retries them in bulk. */
  readonly runs: Runs;
  /** Queues: lists, pauses and resumes them. */
  readonly queues: Queues;
  /** @internal */
  readonly [CLIENT_PORT]: ClientPort;
  #listening = false;
  #worker: Worker | undefined;
  #starting: Promise<void> | undefined;
  /** The last drain's end, however it ends. */
  #drained: Promise<unknown> | undefined;
  #stopping: Promise<void> | undefined;
  readonly #stopRequested = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = resolveClientOptions(options);
    const { source, schema, log } = this.#options;
    this.#tables = tablesOf(schema);
    this.#channel = channelOf(schema);
    this.#events = new Events((event, error) => log.error(`A listener of "${event}" threw.`, { error: String(error) }));
    this.#ownConnections = source.userPool === undefined ? ownConnections(this.#options) : undefined;
    source.userPool?.on("error", ignored);
    this.#statements = new Statements(
      source.userPool ?? (this.#ownConnections as BorrowedConnections).pool,
      this.#tables,
    );
    this.#installation = new Installation(this.#statements, schema);
    // The sender's tag lets this process leave its own wake-ups: it has been woken already.
    this.#notifier = new Notifier((words) => this.#notify(words.map((word) => `${word} ${this.#tag}`)));
    this.#listener = this.#makeListener();
    this.#waiter = new Waiter({
      run: this.#statements.once,
      bucketCount: () => this.#installation.bucketCountPlainly(),
      pollMs: this.#options.pollMs,
      onWaiting: () => void this.#listen(),
    });
    this.#starter = this.#makeStarter();
    this.#steering = this.#makeSteering();
    this.runs = new Runs(() => this.#reader);
    this.queues = new Queues({
      reader: () => this.#reader,
      statements: this.#statements,
      served: [...this.#options.queues.keys()],
      onResumed: () => this.#wakeAll(),
    });
    this[CLIENT_PORT] = clientPort({
      starter: this.#starter,
      reader: () => this.#reader,
      refuseWhenStopped: () => this.#refuseWhenStopped(),
    });
  }

  /**
   * Brings the tables up to date; any number of processes may do so at once, and one does it.
   * @param options `bucketCount`: into how many buckets a new installation is divided (1), fixed from then on
   * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are newer than this code
   * @throws ConnectionError (`CYCLONE_CONNECTION`) if there is no usable connection, or its role may not
   */
  async migrate(options: { bucketCount?: number } = {}): Promise<void> {
    this.#refuseWhenStopped();
    rejectUnknownKeys(options, ["bucketCount"], "migrate");
    await migrateDatabase(this.#options, options.bucketCount);
  }

  /**
   * Becomes a worker. Waits for a database that can't be reached, as long as it takes; never migrates.
   * @throws ProducerOnlyError (`CYCLONE_PRODUCER_ONLY`) without handlers
   * @throws SchemaVersionError (`CYCLONE_SCHEMA_VERSION`) if the tables are missing or older than this code
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if `maxConnections` is too small to work with
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`) if `stop()` came before or meanwhile
   */
  start(): Promise<void> {
    if (this.#stopping !== undefined) return Promise.reject(new ClientStoppedError());
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  /**
   * Claims no more, waits for handlers up to `timeout` ("25s"), then fires their signals and gives their steps back without a charge.
   * Afterwards nothing of this client is left: no timer, socket or thread; a Pool of yours stays open. Again: the same stop.
   */
  async stop(options: { timeout?: Duration } = {}): Promise<void> {
    rejectUnknownKeys(options, ["timeout"], "stop");
    const timeoutMs = toMilliseconds(options.timeout ?? STOP_TIMEOUT, "timeout");
    this.#stopping ??= this.#stop(timeoutMs);
    await this.#stopping;
  }

  /**
   * Works until nothing is available and nothing runs here, then returns: for tests and scripts. What waits for a time (a delay, a
   * backoff) isn't waited for. A client that wasn't started stops working afterwards, also after the timeout: what still runs then is given back.
   * @throws DrainTimeoutError (`CYCLONE_DRAIN_TIMEOUT`) if that takes longer than `timeout` ("30s")
   */
  async drain(options: { timeout?: Duration } = {}): Promise<void> {
    this.#refuseWhenStopped();
    rejectUnknownKeys(options, ["timeout"], "drain");
    const timeoutMs = toMilliseconds(options.timeout ?? "30s", "timeout");
    // What was called before goes first, so that there is never more than one worker.
    const before = Promise.all([this.#drained, this.#starting?.catch(() => undefined)]);
    const work = before.then(() => this.#drain(timeoutMs));
    this.#drained = work.catch(() => undefined);
    await work;
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.#refuseWhenStopped();
    const started = this.#worker;
    const worker = started ?? (await this.#newWorker());
    this.#refuseWhenStopped(); // a stop meanwhile has found no worker to stop
    this.#worker = worker;
    try {
      if (started === undefined) await worker.start();
      await drained({
        ...this.#options,
        run: this.#statements.run,
        bucketCount: await this.#installation.bucketCount(),
        worker,
        timeoutMs,
        refuseWhenStopped: () => this.#refuseWhenStopped(),
      });
    } finally {
      if (started === undefined) {
        await worker.stop(toMilliseconds(STOP_TIMEOUT, "timeout"));
        this.#worker = undefined;
      }
    }
  }

  /** The same as `stop()`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * A handle on a run; reads nothing. Name the definition for its type: `client.run(id, ingest)` also checks, when the run is first
   * read, that it is one of `ingest`; `client.run<typeof ingest>(id)` needs only the type.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- inputs are parameters: only any takes definitions of all types
  run<D extends Definition<any, any> = Definition<unknown, unknown>>(id: string, definition?: D): Run<OutputOf<D>> {
    const runtime = definition === undefined ? undefined : definitionOf(definition);
    if (definition !== undefined && runtime === undefined) {
      throw new InvalidOptionError(
        "definition",
        "client.run takes a step, an action or a workflow as its second argument",
      );
    }
    return new RunHandle(this.#reader, id, true, runtime);
  }

  /**
   * What there is to do, by queue and step, and what became of the runs of the last hour, over all processes. Counts stop at about 100,000 steps of
   * each state and 20,000 runs, so that the time is bounded whatever the tables hold. Not in a transaction of yours.
   * @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`)
   */
  stats(): Promise<Stats> {
    return readStats(this.#reader);
  }

  /**
   * Listens to what this client tells of its own process's work. @returns a function that removes the listener
   * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) for an event that there isn't, with a suggestion
   */
  on<E extends EventName>(event: E, listener: (payload: ClientEvents[E]) => void): () => void {
    return this.#events.on(event, listener);
  }

  /** @internal */
  get [CLIENT_READER](): RunReader {
    return this.#reader;
  }

  get #reader(): RunReader {
    return {
      run: (statement, params) => {
        this.#refuseWhenStopped();
        return this.#statements.run(statement, params);
      },
      bucketCount: async () => {
        this.#refuseWhenStopped();
        return this.#installation.bucketCount();
      },
      waiter: this.#waiter,
      told: (work) => this.#statements.told(work),
      steering: this.#steering,
    };
  }

  async #start(): Promise<void> {
    await this.#drained;
    const worker = await this.#newWorker();
    if (this.#stopRequested.signal.aborted) throw new ClientStoppedError();
    this.#worker = worker;
    try {
      await worker.start();
      await this.#listen();
    } catch (error) {
      this.#worker = undefined;
      await worker.stop(0);
      throw error;
    }
    if (this.#stopRequested.signal.aborted) throw new ClientStoppedError();
  }

  async #newWorker(): Promise<Worker> {
    const options = this.#options;
    if (options.steps.size === 0 && options.workflows.size === 0) throw new ProducerOnlyError();
    const budget = connectionBudget(options.maxConnections, options.listen, options.source.userPool !== undefined);
    const bucketCount = await this.#installation.reach(this.#stopRequested.signal, (error) =>
      options.log.warn("The database can't be reached; trying again.", { error: String(error) }),
    );
    return new Worker({
      ...options,
      tables: this.#tables,
      bucketCount,
      budget,
      reports: workerReports(this.#events, options.log),
      onAvailable: () => this.#notifier.notify("work"),
      onEnded: (runs) => this.#tellEnded(runs),
      onStopped: () => this.#notifier.notify("stopped"),
    });
  }

  #tellEnded(runs: readonly EndedRun[]): void {
    this.#waiter.ended(runs.map((run) => run.runId));
    this.#notifier.notify("ended");
  }

  async #stop(timeoutMs: number): Promise<void> {
    this.#stopRequested.abort();
    // At once, since its start may wait for a database that can't be reached.
    await Promise.all([this.#worker?.stop(timeoutMs), this.#starting?.catch(() => undefined)]);
    await this.#worker?.stop(timeoutMs);
    await this.#drained;
    this.#waiter.close(new ClientStoppedError());
    await this.#notifier.flush();
    await this.#listener.close();
    this.#statements.close();
    await this.#ownConnections?.close();
    this.#options.source.userPool?.removeListener("error", ignored);
  }

  async #listen(): Promise<void> {
    if (this.#listening || !this.#options.listen || this.#stopping !== undefined) return;
    this.#listening = true;
    await this.#listener.start();
  }

  /** Tells the workers of all processes that there may be something to claim. */
  #wakeAll(): void {
    this.#worker?.wake();
    this.#notifier.notify("work");
  }

  #refuseWhenStopped(): void {
    if (this.#stopping !== undefined) throw new ClientStoppedError();
  }

  async #notify(payloads: string[]): Promise<void> {
    await this.#statements.once(notify, { channel: this.#channel, payloads });
  }

  #makeListener(): Listener {
    const { listenSource, leaseMs, log } = this.#options;
    return new Listener({
      newClient: (): pg.Client => newClient(listenSource.config, "cyclone listen"),
      channel: this.#channel,
      foundWithinMs: Math.min(leaseMs / 2, PROBE_MAX_MS),
      notify: (payload) => this.#notify([payload]),
      onNotification: (payload) => {
        const [word, tag] = payload.split(" ");
        if (tag === this.#tag) return;
        if (word === "work") this.#worker?.wake();
        if (word === "ended") this.#waiter.wake();
        if (word === "stopped") this.#worker?.checkLeases();
      },
      onListening: () => {
        this.#worker?.wake();
        this.#waiter.wake();
      },
      onDown: (error) => {
        const reason = `Notifications aren't heard, so that work is found by polling until they are again: ${String(error)}`;
        log.warn(reason);
        this.#events.emit("worker.degraded", { reason });
      },
    });
  }

  #makeStarter(): Starter {
    const { notify: notifies, maxPayloadBytes } = this.#options;
    return new Starter({
      statements: this.#statements,
      tables: this.#tables,
      bucketCount: () => this.#installation.bucketCount(),
      maxPayloadBytes,
      channelInTx: notifies ? this.#channel : undefined,
      onCommitted: (runs, definition) => {
        this.#wakeAll();
        if (!this.#events.has("run.submitted")) return;
        for (const run of runs)
          if (!run.existing) this.#events.emit("run.submitted", { runId: run.id, name: definition.name });
      },
    });
  }

  #makeSteering(): Steering {
    return new Steering({
      statements: this.#statements,
      onEnded: (runs) => {
        this.#tellEnded(runs);
        for (const { runId, name, state } of runs) this.#events.emit(`run.${state}`, { runId, name });
        if (!runs.some(({ state }) => state === "cancelled")) return;
        this.#worker?.checkLeases();
        this.#notifier.notify("stopped");
      },
      onAvailable: () => this.#wakeAll(),
    });
  }
}
