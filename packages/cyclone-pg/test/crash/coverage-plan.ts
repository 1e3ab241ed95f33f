import { catalog } from "../../src/sql/catalog.ts";

/** What one test file has to cut, and to see. */
export interface Share {
  /** Each must be enumerated, with no point left out. */
  readonly transitions: readonly string[];
  /** Statements that write: each must be cut on both sides, and all moves that the engine's table says it makes must be seen. */
  readonly statements: readonly string[];
  /** Points that aren't statements of the catalogue, by their labels: each must be cut on both sides. */
  readonly others: readonly RegExp[];
}

/**
 * Which test file cuts what; together all that the engine sends and that writes, as `enumeration-plan.test.ts` and each file's
 * last test check.
 */
export const coveragePlan = {
  submit: {
    transitions: [
      "submit one run",
      "submit one run in several batches",
      "submit many in several batches",
      "submit with a new key",
      "submit many with new keys in several batches",
      "submit with a key that is taken",
      "submit in the caller's transaction",
      "submit with a delay",
      "submit with a key and a delay",
    ],
    statements: ["submit_runs", "submit_keyed_runs", "notify"],
    others: [
      /^begin isolation level read committed read write$/,
      /^commit \(.*submit_(keyed_)?runs/,
      // The caller's own.
      /^begin$/,
      /^insert into orders/,
    ],
  },
  complete: {
    transitions: [
      "a worker's start, a claim and a completion",
      "complete a job",
      "complete a chain whose inputs are bound",
      "complete a fan",
      "complete siblings one after the other",
      "complete the last node of a failed run",
    ],
    statements: ["claim_steps", "complete_steps"],
    others: [/^ask_isolation$/, /^listen$/, /^probe$/],
  },
  completionTx: {
    transitions: ["complete by completionTx", "complete siblings by completionTx"],
    statements: ["complete_own_row"],
    others: [/^begin_completion_tx$/, /^insert into ledger/, /^commit \(.*complete_own_row\)$/],
  },
  release: {
    transitions: [
      "release with a backoff",
      "release without a delay",
      "release after a write of the completionTx",
      "release for a snooze",
      "release by an interruption",
      "give back at stop",
      "discard with downstream",
      "discard by an interruption",
    ],
    statements: ["release_steps", "discard_steps"],
    others: [/^rollback \(begin_completion_tx/, /^do \$\$ begin raise exception/],
  },
  sweep: {
    transitions: ["promote", "reclaim", "discard when reclaims are used up", "activate what was missed", "renew"],
    statements: ["promote_steps", "reclaim_steps", "renew_leases", "report_progress"],
    others: [],
  },
  steer: {
    transitions: ["cancel", "retry", "fail by a deadline", "trim", "trim by a run's own retention"],
    statements: ["end_runs", "retry_run", "trim_runs", "trim_runs_by_own_retention"],
    others: [],
  },
  queues: {
    transitions: ["pause a queue", "resume a queue"],
    statements: ["pause_queue", "resume_queue"],
    others: [/^commit \((pause|resume)_queue\)$/],
  },
  kill: {
    transitions: [
      "kill: submit with a key",
      "kill: claim and complete",
      "kill: complete by completionTx",
      "kill: release with a backoff",
      "kill: discard with downstream",
      "kill: reclaim",
      "kill: discard when reclaims are used up",
      "kill: activate what was missed",
    ],
    // All of them belong to the files above, which cut connections.
    statements: [],
    others: [],
  },
} as const satisfies Record<string, Share>;

/** Whether a point is in some file's share, or a statement of the catalogue, which the plan's test sees to. */
export function isPlanned(label: string): boolean {
  const others = Object.values(coveragePlan).flatMap((share): readonly RegExp[] => share.others);
  return catalog.some(({ name }) => name === label) || others.some((pattern) => pattern.test(label));
}

/** Statements of the catalogue that write nothing, so that a cut can leave nothing half done. */
export const readOnlyStatements = {
  find_keyed_runs: "reads who holds a key; cut all the same in the keyed submits",
  look_up_completion: "reads where a step stands, under a row lock that ends with it",
  look: "asks what is due",
  find_exhausted_steps: "finds what discard_steps then checks again",
  find_unactivated_steps: "finds what complete_steps then checks again",
  find_suspects: "finds which runs a refused batch was about",
  find_ended_runs: "a read of the client's",
  read_run: "a read of the client's",
  read_nodes: "a read of the client's",
  read_edges: "a read of the client's",
  read_node: "a read of the client's",
  read_lost_leases: "tells a handler why its lease is gone",
  find_uncounted_nodes: "finds what complete_steps then checks again",
  find_overdue_runs: "finds what end_runs then checks again",
  read_attempts: "a read of the client's",
  list_runs: "a read of the client's",
  list_unsuccessful_runs: "a read of the client's",
  count_live_steps: "a read of the client's",
  count_recent_runs: "a read of the client's",
  list_queues: "a read of the client's",
  find_claiming: "asks the lock table whom a pause has to wait for",
  read_installation: "asks for the version and the bucket count",
} as const satisfies Record<string, string>;

/** Statements of `cyclone-pg/testing`, which a user's tests send and the engine never does. */
export const testingStatements: readonly string[] = ["advance_time", "read_started_runs"];
