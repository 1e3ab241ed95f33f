import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type Client, type ClientOptions, createClient } from "../../src/index.ts";
import { checkHistory, createLedger, installAudit } from "../support/check-history.ts";
import { History } from "../support/history.ts";
import { recordingLog } from "../support/test-client.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";
import { violationText } from "../support/violation.ts";
import { ledgerSteps } from "./scenarios/completion-tx-scenarios.ts";
import { type Scenarios, scenariosOf } from "./scenarios.ts";
import { hastyWorkerOptions, workerOptions } from "./worker-options.ts";

/** What must have become of a run once everything is at rest. */
export interface Expectation {
  readonly run: string;
  readonly state: "completed" | "failed" | "cancelled";
  /** The run's result; absent: not looked at. */
  readonly output?: unknown;
}

/** A run that ends takes a fraction of a second, or a lease and its sweep after a cut. */
const END_LIMIT_MS = 40_000;
/** For what a case does beside waiting for that. */
export const CASE_LIMIT_MS = END_LIMIT_MS + 20_000;
const LOOK_GAP_MS = 10;
const LOG_LINES_SHOWN = 10;

/**
 * What the cases of one enumeration share: a database of its own, with the audit trail and a ledger that no constraint
 * protects, a history, and the scenarios whose handlers write both.
 */
export class CrashWorld implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly historyPath: string;
  readonly history: History;
  readonly scenarios: Scenarios;
  /** Submits and reads past the proxy, never cut. */
  readonly producer: Client;
  readonly #folder: string;
  readonly #complaints: string[] = [];
  /** What the workers logged. */
  readonly #log = recordingLog();
  #expected: Expectation[] = [];
  #standing: Client | undefined;

  private constructor(database: TestDatabase) {
    this.database = database;
    this.#folder = mkdtempSync(join(tmpdir(), "cyclone-crash-"));
    this.historyPath = join(this.#folder, "history.jsonl");
    this.history = new History(this.historyPath);
    this.scenarios = scenariosOf(this.history, (text, values) => database.query(text, values));
    this.producer = createClient({ connection: database.url, log: recordingLog().log, listen: false });
  }

  static async open(): Promise<CrashWorld> {
    const database = await createTestDatabase();
    await installAudit((text) => database.query(text));
    await createLedger((text) => database.query(text));
    return new CrashWorld(database);
  }

  /** A worker by way of `url` that works until the world ends, over all cases. */
  async standingWorker(url: string, options?: Partial<ClientOptions>): Promise<void> {
    if (this.#standing !== undefined) return;
    this.#standing = this.#newWorker(url, options);
    await this.#standing.start();
  }

  /** Does `work` while a worker works by way of `url`. */
  async withWorker(
    url: string,
    options: Partial<ClientOptions>,
    work: (worker: Client) => Promise<void>,
  ): Promise<void> {
    const worker = this.#newWorker(url, options);
    try {
      await worker.start();
      await work(worker);
    } finally {
      await worker.stop({ timeout: 0 });
    }
  }

  /** Says what the case must end with. */
  expect(...expected: Expectation[]): void {
    this.#expected.push(...expected);
  }

  /** What workers have logged. */
  get logged(): readonly string[] {
    return this.#log.lines.map(({ message }) => message);
  }

  /** Notes what is wrong, for the case's check. */
  complain(what: string): void {
    this.#complaints.push(what);
  }

  async unfinished(): Promise<number> {
    const { rows } = await this.database.query<{ n: number }>(
      "select count(*)::int as n from cyclone_runs where state = 'running'",
    );
    return rows[0]?.n ?? 0;
  }

  /** Resolves when no run is unfinished; what takes too long is complained of. */
  async runsEnd(who: string, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + END_LIMIT_MS;
    while ((await this.unfinished()) > 0) {
      if (signal?.aborted === true) return;
      if (performance.now() > deadline) return await this.#complainOfRest(who);
      await wait(LOOK_GAP_MS);
    }
  }

  /** Lets the leases of workers that are dead run out, as if they had died a while ago. */
  async expireLeases(): Promise<void> {
    await this.database.query(
      "update cyclone_steps set lease_expiry = statement_timestamp() - interval '1 second' where state = 'running'",
    );
  }

  /** A clean worker, past the proxy, finishes what is left. */
  async finish(): Promise<void> {
    if ((await this.unfinished()) === 0) return;
    await this.withWorker(this.database.url, hastyWorkerOptions, () => this.runsEnd("a clean worker"));
  }

  /** Finishes what is left; then everything the checker knows must hold, and the case's runs be as expected. */
  async check(): Promise<string[]> {
    await this.finish();
    const violations = await checkHistory(this.database.url, {
      mode: "liveness",
      history: this.historyPath,
      ledger: { table: "ledger", steps: ledgerSteps },
    });
    const expected = this.#expected;
    this.#expected = [];
    const unmet: string[] = [];
    for (const one of expected) unmet.push(...(await this.#unmet(one)));
    return [...this.#complaints.splice(0), ...violations.map(violationText), ...unmet];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#standing?.stop({ timeout: 0 });
    await this.producer.stop({ timeout: 0 });
    this.history.close();
    await this.database.drop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #complainOfRest(who: string): Promise<void> {
    const { rows } = await this.database.query<{ live: string }>(`
      select coalesce(string_agg(node || ' ' || state, ', ' order by run_id, key), 'no node') as live
      from cyclone_steps where state not in ('completed', 'discarded', 'cancelled')`);
    const logged = this.#log.lines
      .slice(-LOG_LINES_SHOWN)
      .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);
    this.complain(
      `${who} left runs unfinished after ${END_LIMIT_MS} ms: ${rows[0]?.live}. Logged: ${logged.join(" | ") || "nothing"}`,
    );
  }

  #newWorker(url: string, options?: Partial<ClientOptions>): Client {
    const { handlers } = this.scenarios;
    return createClient({ connection: url, handlers, log: this.#log.log, ...workerOptions, ...options });
  }

  async #unmet({ run, state, ...more }: Expectation): Promise<string[]> {
    const handle = this.producer.run(run);
    const found = await handle.state();
    if (found !== state) return [`run ${run} is ${found}, not ${state}`];
    if (!("output" in more)) return [];
    const output = await handle.output();
    if (isDeepStrictEqual(output, more.output)) return [];
    return [`run ${run} has the result ${JSON.stringify(output)}, not ${JSON.stringify(more.output)}`];
  }
}
