import { randomBytes } from "node:crypto";
import type { QueryResult } from "pg";
import pg from "pg";
import { type Definition, definitionOf, type InputOf } from "../builder/definition.ts";
import type { NodeInfo, Run } from "../builder/run.ts";
import type { Client } from "../client/client.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { Duration } from "../model/duration.ts";
import { rejectUnknownKeys } from "../model/options.ts";
import type { NodeState } from "../model/states.ts";
import { cloneDatabase, dropDatabase, serverVersion } from "../sql/testing/databases.ts";
import { asAdmin, urlOf } from "./admin.ts";
import { TestClock } from "./clock.ts";
import { drainClients } from "./drain-clients.ts";
import { assertEnqueued, type EnqueuedRun, type ExpectedRun, readEnqueued } from "./enqueued.ts";
import { Installed } from "./installed.ts";
import type { TestTemplate } from "./test-template.ts";
import { waitForNode } from "./wait-for-node.ts";

/** Options of {@link TestDatabase.drain}. */
export interface TestDrainOptions {
  /** @default "30s" */
  timeout?: Duration;
  /** Whether to advance the time to the next scheduled node whenever nothing else is left to do. @default false */
  scheduled?: boolean;
}

// oxlint-disable-next-line typescript/no-explicit-any -- inputs are parameters: only any takes definitions of all types
type AnyDefinition = Definition<any, any>;

/**
 * A database of one test's own: migrated, empty, dropped at the end (`await using`, or {@link TestDatabase.drop}). Clients connect to its
 * `url`; its methods look at the tables and at no client, so that it doesn't matter whose client did what.
 */
export class TestDatabase implements AsyncDisposable {
  /** The name of the database. */
  readonly name: string;
  /** For clients and connections of the test. */
  readonly url: string;
  readonly #server: string;
  readonly #pool: pg.Pool;
  readonly #installed: Installed;
  readonly #clock: TestClock;

  /** @internal {@link createTestDatabase} makes them */
  constructor(template: TestTemplate, name: string) {
    this.name = name;
    this.url = urlOf(template.server, name);
    this.#server = template.server;
    this.#pool = new pg.Pool({ connectionString: this.url, max: 2, application_name: "cyclone testing" });
    this.#pool.on("error", () => undefined); // dropping the database cuts idle connections
    this.#installed = new Installed(this.#pool, template.schema);
    this.#clock = new TestClock(this.#installed);
  }

  /** A statement of the test's own, such as a look into your tables. */
  query(text: string, values?: unknown[]): Promise<QueryResult> {
    return this.#pool.query(text, values);
  }

  /**
   * Lets time pass for what waits in this database. It moves `available_at` of all nodes that are scheduled (a delay, `startAt`, a
   * backoff, a snooze, a sleep) or waiting with a limit, and `deadline` of all runs that are running, so much into the past. Scheduled
   * nodes that are due by that become available at once, and workers that listen are woken; workers see to the rest at their next
   * poll. Nothing else moves: leases, a handler's own timers and timeouts, retention, `created_at`, the clocks.
   */
  async advance(by: Duration): Promise<void> {
    await this.#clock.advance(by);
  }

  /**
   * Lets these clients work until there is nothing available for any of them: `client.drain()` for one, for several until a round finds
   * nothing. With `scheduled`, {@link TestDatabase.advance} goes on to the next node that waits for a time until none does, so
   * that delays, backoffs and snoozes pass in their order.
   * @throws DrainTimeoutError (`CYCLONE_DRAIN_TIMEOUT`)
   */
  async drain(clients: Client | readonly Client[], options: TestDrainOptions = {}): Promise<void> {
    rejectUnknownKeys(options, ["timeout", "scheduled"], "drain");
    const list = Array.isArray(clients) ? (clients as readonly Client[]) : [clients as Client];
    await drainClients(list, options.timeout ?? "30s", options.scheduled === true ? this.#clock : undefined);
  }

  /**
   * Waits until a node is in a state, or in one of several, by reading its row: also one that it reached before. A node that has ended in
   * another state rejects at once.
   * @param options `timeout`: "10s"
   * @throws AssertionError (of `node:assert`) with all nodes of the run
   */
  async waitForNode(
    run: string | Pick<Run<unknown>, "id">,
    node: string,
    state: NodeState | readonly NodeState[],
    options: { timeout?: Duration } = {},
  ): Promise<NodeInfo> {
    rejectUnknownKeys(options, ["timeout"], "waitForNode");
    const runId = typeof run === "string" ? run : run.id;
    return waitForNode(this.#installed, runId, node, state, options.timeout ?? "10s");
  }

  /** The jobs of a step or action, or the runs of a workflow, that were started here, whatever became of them: oldest first. */
  async enqueued<D extends AnyDefinition>(definition: D): Promise<EnqueuedRun<InputOf<D>>[]> {
    return readEnqueued<InputOf<D>>(this.#installed, runtimeOf(definition));
  }

  /**
   * Checks that one of {@link TestDatabase.enqueued} is as expected, and gives the first that is. Objects in `input` may leave
   * properties out; lists and everything else must be equal.
   * @throws AssertionError (of `node:assert`) with those that are there
   */
  async assertEnqueued<D extends AnyDefinition>(
    definition: D,
    expected: ExpectedRun<InputOf<D>> = {},
  ): Promise<EnqueuedRun<InputOf<D>>> {
    return assertEnqueued<InputOf<D>>(this.#installed, runtimeOf(definition), expected);
  }

  /** Drops the database, whoever is still connected; stop your clients before. */
  async drop(): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end();
    await asAdmin(this.#server, (admin) => admin.query(dropDatabase(this.name)));
  }

  /** The same as `drop()`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop();
  }
}

/** Clones the template: a tenth of a second or so. */
export async function createTestDatabase(template: TestTemplate): Promise<TestDatabase> {
  const name = `cyclone_test_${process.pid}_${randomBytes(6).toString("hex")}`;
  await asAdmin(template.server, async (admin) => {
    const { rows } = await admin.query<{ version: number }>(serverVersion);
    await admin.query(cloneDatabase(name, template.name, rows[0]?.version ?? 0));
  });
  return new TestDatabase(template, name);
}

function runtimeOf(definition: AnyDefinition) {
  const runtime = definitionOf(definition);
  if (runtime !== undefined) return runtime;
  throw new InvalidOptionError("definition", "What was enqueued is asked for by a step, an action or a workflow.");
}
