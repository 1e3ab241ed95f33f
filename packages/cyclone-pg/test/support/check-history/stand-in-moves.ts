import { tablesOf } from "../../../src/sql/tables.ts";

export type Query = (text: string, values?: unknown[]) => Promise<unknown>;

/** Where a node is: its run, and its key in it. */
export type Place = readonly [run: string, key: number];

/** A graph to submit: node names in order of their keys (`b` is an action), and edges between keys. */
export interface StandInGraph {
  readonly name: string;
  readonly key: string | null;
  readonly nodes: readonly string[];
  readonly edges: readonly (readonly [from: number, to: number])[];
}

export const worker = "00000000-0000-4000-8000-000000000001";

const withoutLease = "lease_owner = null, lease_expiry = null";

/** The engine's moves as one plain statement each, for a test's data: correct when called in a legal order, by one caller. */
export class StandInMoves {
  readonly #query: Query;
  readonly #schema: string;

  constructor(query: Query, schema: string) {
    this.#query = query;
    this.#schema = schema;
  }

  async submit(run: string, graph: StandInGraph): Promise<void> {
    const t = tablesOf(this.#schema);
    const { name, key, nodes, edges } = graph;
    await this.#query(
      `insert into ${t.runs} (bucket, id, kind, name, remaining, idempotency_key) values (0, $1, 'workflow', $2, $3, $4)`,
      [run, name, nodes.length, key],
    );
    for (const [from, to] of edges) {
      await this.#query(
        `insert into ${t.deps} (bucket, run_id, upstream_key, node_key, upstream, node, data) values (0, $1, $2, $3, $4, $5, true)`,
        [run, from, to, nodes[from], nodes[to]],
      );
    }
    for (const [own, node] of nodes.entries()) {
      const pending = edges.filter(([, to]) => to === own).length;
      const downs = edges.filter(([from]) => from === own).map(([, to]) => to);
      await this.#query(
        `insert into ${t.steps} (bucket, run_id, key, node, step, kind, state, pending, downs) values (0, $1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          run,
          own,
          node,
          `step-${node}`,
          node === "b" ? "action" : "step",
          pending === 0 ? "available" : "pending",
          pending,
          downs,
        ],
      );
    }
  }

  async claim(place: Place): Promise<void> {
    await this.#set(
      place,
      `state = 'running', lease_epoch = lease_epoch + 1, started_at = clock_timestamp(),
       lease_owner = '${worker}', lease_expiry = clock_timestamp() + interval '1 hour'`,
    );
  }

  /** `unactivated`: as a completionTx does it. */
  async complete(place: Place, unactivated: boolean | null = null): Promise<void> {
    await this.#set(
      place,
      `state = 'completed', attempts = attempts + 1, finished_at = clock_timestamp(), unactivated = ${unactivated}, ${withoutLease}`,
    );
  }

  async activated(place: Place): Promise<void> {
    await this.#set(place, "unactivated = null");
  }

  /** Counts a downstream node down. */
  async countDown(place: Place, by = 1): Promise<void> {
    await this.#set(
      place,
      `pending = pending - ${by}, state = case when pending = ${by} then 'available'::public.cyclone_step_state else state end`,
    );
  }

  async fail(place: Place, epoch: number): Promise<void> {
    await this.#set(place, `state = 'scheduled', attempts = attempts + 1, ${withoutLease}`);
    await this.#called(place, epoch, "failed");
  }

  async promote(place: Place): Promise<void> {
    await this.#set(place, "state = 'available'");
  }

  async reclaim(place: Place, epoch: number): Promise<void> {
    await this.#set(place, `state = 'available', reclaims = reclaims + 1, ${withoutLease}`);
    await this.#called(place, epoch, "reclaimed");
  }

  async discard(place: Place, epoch: number): Promise<void> {
    await this.#set(
      place,
      `state = 'discarded', attempts = attempts + 1, finished_at = clock_timestamp(), ${withoutLease}`,
    );
    await this.#called(place, epoch, "discarded");
  }

  async cancel(place: Place): Promise<void> {
    await this.#set(place, "state = 'cancelled', finished_at = clock_timestamp()");
  }

  async endRun(run: string, state: "completed" | "failed", failed = 0): Promise<void> {
    const { runs } = tablesOf(this.#schema);
    await this.#query(
      `update ${runs} set remaining = 0, failed = $2, state = $3, finished_at = clock_timestamp() where bucket = 0 and id = $1`,
      [run, failed, state],
    );
  }

  async #set([run, key]: Place, columns: string): Promise<void> {
    const { steps } = tablesOf(this.#schema);
    await this.#query(`update ${steps} set ${columns} where bucket = 0 and run_id = $1 and key = $2`, [run, key]);
  }

  async #called([run, key]: Place, epoch: number, outcome: string): Promise<void> {
    const { attempts } = tablesOf(this.#schema);
    await this.#query(
      `insert into ${attempts} (bucket, run_id, key, epoch, attempt, worker, outcome) values (0, $1, $2, $3, 1, $4, $5)`,
      [run, key, epoch, worker, outcome],
    );
  }
}
