import type { NodeState, RunState } from "../model/states.ts";

/** One legal move of a node, the statement that makes it, and what it does to the count of attempts. */
export interface Transition {
  /** `null`: the row is new. */
  readonly from: NodeState | null;
  readonly to: NodeState;
  /** The statement's name in the catalog. */
  readonly by: string;
  readonly attempt: "charged" | "counted" | "unchanged" | "reset";
}

/**
 * Every move of a node that this version makes. Each is one guarded UPDATE that names the state it leaves, and out of `running` the
 * lease's epoch as well; zero rows means that somebody else won. A test compares the moves seen in an audit of the whole suite's
 * kind of work with this table.
 */
export const transitions = [
  { from: null, to: "pending", by: "submit_runs", attempt: "unchanged" },
  { from: null, to: "available", by: "submit_runs", attempt: "unchanged" },
  { from: null, to: "scheduled", by: "submit_runs", attempt: "unchanged" },
  { from: null, to: "pending", by: "submit_keyed_runs", attempt: "unchanged" },
  { from: null, to: "available", by: "submit_keyed_runs", attempt: "unchanged" },
  { from: null, to: "scheduled", by: "submit_keyed_runs", attempt: "unchanged" },
  { from: "available", to: "running", by: "claim_steps", attempt: "unchanged" },
  { from: "running", to: "completed", by: "complete_steps", attempt: "counted" },
  { from: "running", to: "completed", by: "complete_own_row", attempt: "counted" },
  { from: "pending", to: "available", by: "complete_steps", attempt: "unchanged" },
  { from: "running", to: "scheduled", by: "release_steps", attempt: "charged" },
  { from: "running", to: "scheduled", by: "release_steps", attempt: "unchanged" },
  { from: "running", to: "available", by: "release_steps", attempt: "charged" },
  { from: "running", to: "available", by: "release_steps", attempt: "unchanged" },
  { from: "running", to: "discarded", by: "discard_steps", attempt: "charged" },
  { from: "running", to: "discarded", by: "discard_steps", attempt: "unchanged" },
  { from: "pending", to: "cancelled", by: "discard_steps", attempt: "unchanged" },
  { from: "running", to: "available", by: "reclaim_steps", attempt: "unchanged" },
  { from: "scheduled", to: "available", by: "promote_steps", attempt: "unchanged" },
  { from: "pending", to: "cancelled", by: "end_runs", attempt: "unchanged" },
  { from: "scheduled", to: "cancelled", by: "end_runs", attempt: "unchanged" },
  { from: "available", to: "cancelled", by: "end_runs", attempt: "unchanged" },
  { from: "running", to: "cancelled", by: "end_runs", attempt: "unchanged" },
  { from: "cancelled", to: "pending", by: "retry_run", attempt: "reset" },
  { from: "cancelled", to: "available", by: "retry_run", attempt: "reset" },
  { from: "discarded", to: "available", by: "retry_run", attempt: "reset" },
] as const satisfies readonly Transition[];

/** Every move of a run: it ends by the transition that ended its last node, and goes on by a retry. */
export const runTransitions = [
  { from: null, to: "running", by: "submit_runs" },
  { from: null, to: "running", by: "submit_keyed_runs" },
  { from: "running", to: "completed", by: "complete_steps" },
  { from: "running", to: "failed", by: "complete_steps" },
  { from: "running", to: "failed", by: "discard_steps" },
  { from: "running", to: "cancelled", by: "end_runs" },
  { from: "running", to: "failed", by: "end_runs" },
  { from: "cancelled", to: "running", by: "retry_run" },
  { from: "failed", to: "running", by: "retry_run" },
] as const satisfies readonly { readonly from: RunState | null; readonly to: RunState; readonly by: string }[];
