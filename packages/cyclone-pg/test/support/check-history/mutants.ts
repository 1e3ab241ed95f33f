import type { HistoryEvent } from "../history.ts";
import { runs } from "./healthy-data.ts";
import { worker } from "./stand-in-moves.ts";

const { completed, failed, running } = runs;

export const step = (run: string, node: string, set: string): string =>
  `update cyclone_steps set ${set} where run_id = '${run}' and node = '${node}'`;
const run = (id: string, set: string): string => `update cyclone_runs set ${set} where id = '${id}'`;
export const ledger = (id: string, node: string, epoch: number): string =>
  `insert into ledger (run_id, node, epoch) values ('${id}', '${node}', ${epoch})`;
export const trail = (id: string, node: string | null, from: string, to: string, more = "1, 1, 1, 1, 0, 0"): string =>
  `insert into test_audit (run_id, key, item, node, old_state, new_state, old_epoch, lease_epoch, old_attempts, attempts, old_reclaims, reclaims)
   values ('${id}', ${node === null ? "null" : node.charCodeAt(0) - 97}, 0, ${node === null ? "null" : `'${node}'`}, '${from}', '${to}', ${more})`;
export const submit = (type: "ok" | "info" | "fail", key?: string, id?: string): HistoryEvent => ({
  type,
  operation: "submit",
  id: `mutant-${type}`,
  key,
  run: id,
  pid: 8,
  at: 0,
});
export const call = (id: string, node: string, epoch: number | null): HistoryEvent => ({
  type: "start",
  run: id,
  node,
  epoch,
  pid: 8,
  at: 0,
});

export const nobody = "00000000-0000-7000-8000-0000000000ff";
/** Ends the run that is running, by a cancel. */
export const finishRunning: readonly string[] = [
  step(running, "a", "unactivated = null"),
  `insert into cyclone_attempts (bucket, run_id, key, epoch, attempt, outcome) values (0, '${running}', 2, 1, 1, 'released')`,
  step(running, "c", "state = 'cancelled', lease_owner = null, lease_expiry = null"),
  step(running, "b", "state = 'cancelled'"),
  step(running, "d", "state = 'cancelled'"),
  run(running, "state = 'cancelled', remaining = 0, finished_at = clock_timestamp()"),
];

/** A bug that some engine had, by what it leaves behind. */
export interface Mutant {
  readonly check: string;
  readonly what: string;
  /** SQL that breaks the data. */
  readonly corrupt?: readonly string[];
  /** Events that are recorded besides. */
  readonly events?: readonly HistoryEvent[];
  /** Which events were never recorded. */
  readonly without?: (event: HistoryEvent) => boolean;
  readonly message: RegExp;
  readonly mode?: "liveness";
}

/** At least one for every check; each leads to that violation, and no other. */
export const mutants: readonly Mutant[] = [
  {
    check: "submit-lost",
    what: "an acknowledged run isn't there",
    events: [submit("ok", undefined, nobody)],
    message: new RegExp(`run ${nobody} .* was acknowledged`),
  },
  {
    check: "submit-lost",
    what: "an acknowledged run has lost its key",
    corrupt: [run(completed, "idempotency_key = null")],
    message: /key key-a.* was acknowledged/,
  },
  {
    check: "submit-key-doubled",
    what: "a submit whose answer was lost was written twice",
    corrupt: [run(failed, "idempotency_key = 'key-c'")],
    message: /key key-c has 2 runs/,
  },
  {
    check: "submit-refused-exists",
    what: "a refused submit was written all the same",
    corrupt: [run(failed, "idempotency_key = 'key-refused'")],
    message: /key key-refused was refused/,
  },
  {
    check: "run-remaining",
    what: "a completion was counted twice",
    corrupt: [run(running, "remaining = remaining - 1")],
    message: /has remaining 3, a recount gives 4/,
  },
  {
    check: "run-failed-count",
    what: "a discard wasn't counted",
    corrupt: [run(failed, "failed = 0")],
    message: /has failed 0, but 1 discarded/,
  },
  {
    check: "step-pending",
    what: "a fan-in lost a decrement: the join is stranded",
    corrupt: [step(running, "d", "pending = 3")],
    message: /node d \(pending\) has pending 3, a recount gives 2/,
  },
  {
    check: "step-not-activated",
    what: "the last upstream was counted, but the node never became available",
    corrupt: [
      step(running, "a", "unactivated = null"),
      run(running, "remaining = 3"),
      step(running, "b", "pending = 0"),
    ],
    message: /node b is pending with pending 0/,
  },
  {
    check: "before-upstream",
    what: "a node was claimed while its upstream was running",
    corrupt: [
      step(running, "d", "lease_epoch = 1"),
      `insert into cyclone_attempts (bucket, run_id, key, epoch, attempt, outcome) values (0, '${running}', 3, 1, 1, 'released')`,
    ],
    message: /node d is pending \(claimed 1 times.*upstream b is pending/,
  },
  {
    check: "before-upstream",
    what: "a node started before its upstream finished",
    corrupt: [step(completed, "d", "started_at = '2000-01-01'")],
    message: /node d is completed .*upstream [bc] is completed/,
  },
  {
    check: "live-downstream-of-discarded",
    what: "what depends on a discarded node waits for ever",
    corrupt: [
      step(failed, "b", "state = 'pending', pending = 1, finished_at = null"),
      run(failed, "state = 'running', remaining = 1, finished_at = null"),
    ],
    message: /node b is pending, but its upstream a is discarded/,
  },
  {
    check: "graph-copies",
    what: "the step's list of downstream nodes lacks an edge",
    corrupt: [step(completed, "a", "downs = '{1}'")],
    message: /node a has downs \{1\}, its edges say \{1,2\}/,
  },
  {
    check: "live-node-in-ended-run",
    what: "a run was cancelled, and one of its nodes forgotten",
    corrupt: [...finishRunning, step(running, "b", "state = 'available', pending = 0"), run(running, "remaining = 1")],
    message: /is cancelled, but its node b is available/,
  },
  {
    check: "run-state",
    what: "a run with a discarded node says completed",
    corrupt: [run(failed, "state = 'completed'")],
    message: /is completed .* with 1 of 3 nodes completed, 1 discarded/,
  },
  {
    check: "run-state",
    what: "all nodes have ended, and nobody ended the run",
    corrupt: [run(completed, "state = 'running', finished_at = null")],
    message: /is running .* with 4 of 4 nodes completed/,
  },
  {
    check: "run-state",
    what: "a run was written without its nodes",
    corrupt: [
      `insert into cyclone_runs (bucket, id, kind, name, remaining) values (0, '${nobody}', 'workflow', 'w', 0)`,
    ],
    message: new RegExp(`run ${nobody} is running`),
  },
  {
    check: "run-state",
    what: "a run has failed without a discarded node",
    corrupt: [run(completed, "state = 'failed'")],
    message: /is failed .* 0 discarded/,
  },
  {
    check: "reclaims-over-max",
    what: "a step was reclaimed beyond its bound",
    corrupt: [step(completed, "b", "max_reclaims = 0")],
    message: /node b was reclaimed 1 times, at most 0/,
  },
  {
    check: "attempts-over-max",
    what: "a step was tried beyond its bound",
    corrupt: [step(completed, "b", "max_attempts = 1")],
    message: /node b has 2 attempts, at most 1/,
  },
  {
    check: "attempts-recount",
    what: "a reclaim was charged",
    corrupt: [step(completed, "b", "attempts = 3")],
    message: /node b \(completed\) has attempts 3, its recorded calls give 2/,
  },
  {
    check: "call-unaccounted",
    what: "a reclaim left no record of the call",
    corrupt: [`delete from cyclone_attempts where outcome = 'reclaimed'`],
    message: /node b \(completed\) was claimed 3 times, but 2 calls/,
  },
  {
    check: "lease-columns",
    what: "a completed step still has its lease",
    corrupt: [step(completed, "a", `lease_owner = '${worker}', lease_expiry = clock_timestamp()`)],
    message: /node a is completed with lease owner/,
  },
  {
    check: "called-without-claim",
    what: "a worker ran a row that its claim didn't get",
    events: [call(running, "d", 1)],
    message: /node d was called with epoch 1 by process 8, but was claimed 0 times/,
  },
  {
    check: "called-twice-under-one-lease",
    what: "two slots ran one claim",
    events: [call(completed, "d", 1)],
    message: /node d was called 2 times with epoch 1, by processes/,
  },
  {
    check: "called-more-than-claimed",
    what: "more calls than claims, by handlers that don't know their epoch",
    events: [call(completed, "d", null), call(completed, "d", null)],
    message: /node d was called 2 times, but claimed 1 times/,
  },
  {
    check: "completed-without-call",
    what: "a step was completed that nobody called under that lease",
    without: (event) => event.type === "start" && event.node === "b" && event.epoch === 3,
    message: /node b was completed with epoch 3, but not called with it/,
  },
  {
    check: "ledger-count",
    what: "an effect happened twice: the COMMIT's reply was lost, and it was done again",
    corrupt: [ledger(completed, "b", 2)],
    message: /node b is completed, and has 2 ledger rows \(epochs 2, 3\)/,
  },
  {
    check: "ledger-count",
    what: "an effect is missing",
    corrupt: ["delete from ledger"],
    message: /node b is completed, and has 0 ledger rows/,
  },
  {
    check: "ledger-count",
    what: "an effect of a node that isn't completed",
    corrupt: [ledger(running, "b", 1)],
    message: /node b is pending, and has 1 ledger rows/,
  },
  {
    check: "ledger-epoch",
    what: "a zombie's effect was committed with another's completion",
    corrupt: ["update ledger set epoch = 2"],
    message: /node b was completed with epoch 3, its ledger row has 2/,
  },
  {
    check: "ledger-orphan",
    what: "an effect of a run that was rolled back",
    corrupt: [ledger(nobody, "b", 1)],
    message: new RegExp(`run ${nobody} node b, which doesn't exist`),
  },
  {
    check: "terminal-changed",
    what: "a completed step was discarded by a late failure",
    corrupt: [trail(completed, "a", "completed", "discarded")],
    message: /node a went from completed to discarded/,
  },
  {
    check: "terminal-changed",
    what: "a run that had failed completed",
    corrupt: [trail(failed, null, "failed", "completed", "null, null, null, null, null, null")],
    message: /run \S+ went from failed to completed/,
  },
  {
    check: "illegal-move",
    what: "a step was completed without having run",
    corrupt: [trail(running, "b", "pending", "completed")],
    message: /node b went from pending to completed/,
  },
  {
    check: "epoch-order",
    what: "a claim kept the epoch of the one before",
    corrupt: [trail(running, "c", "available", "running", "1, 1, 0, 0, 0, 0")],
    message: /node c went from available to running with epoch 1 after 1/,
  },
  {
    check: "reclaim-charged",
    what: "a reclaim charged an attempt",
    corrupt: [trail(running, "c", "running", "available", "1, 1, 0, 1, 0, 1")],
    message: /node c was reclaimed with attempts 1 after 0/,
  },
  {
    check: "claimed-before-upstream",
    what: "a node was claimed before its upstream had completed, which it has meanwhile",
    corrupt: [
      `update test_audit set seq = 0 - seq where run_id = '${completed}' and node = 'd' and new_state = 'running'`,
    ],
    message: /node d was claimed \(epoch 1\) before its upstream [bc] was completed/,
  },
  {
    check: "moved-after-run-ended",
    what: "a node was claimed after its run had ended",
    corrupt: [trail(failed, "c", "available", "running", "1, 2, 0, 0, 0, 0")],
    message: /was failed at .*its node c went from available to running/,
  },
  {
    check: "run-unfinished",
    what: "a run is left over",
    mode: "liveness",
    corrupt: [
      ...finishRunning,
      step(running, "d", "state = 'available', pending = 0"),
      `delete from cyclone_deps where run_id = '${running}' and node_key = 3`,
      `update cyclone_steps set downs = null where run_id = '${running}' and key in (1, 2)`,
      run(running, "state = 'running', remaining = 1, finished_at = null"),
    ],
    message: /\(diamond\) is still running: d available/,
  },
];
