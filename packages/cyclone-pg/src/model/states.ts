/** The states of a run; all but `running` are terminal, and only a retry leaves them. */
export type RunState = "running" | "completed" | "failed" | "cancelled";

/**
 * The states of a node.
 * - `pending`: an upstream isn't completed; `scheduled`: waits for a time; `available`: may be claimed
 * - `running`: leased by a worker; `waiting`: its work is elsewhere, without a lease or a connection
 * - `completed`, `discarded`, `cancelled`: terminal
 */
export type NodeState =
  | "pending"
  | "scheduled"
  | "available"
  | "running"
  | "waiting"
  | "completed"
  | "discarded"
  | "cancelled";

/** What a node is: a step, an action or a control node. */
export type NodeKind = "step" | "action" | "forEach" | "child" | "signal" | "sleep";

/** What a run was started from. */
export type RunKind = "workflow" | "step" | "action";

/**
 * How a call of a handler ended that didn't complete its node. `failed` and `timed_out` are charged, also where it was the last attempt, and so is
 * `discarded` (a `Discard`, an output that can't be stored); `snoozed`, `released` (given back by a stop), `interrupted` (its connection was lost) and
 * `reclaimed` (its lease ran out) aren't; `cancelled` is the end of the node.
 */
export type AttemptOutcome =
  | "failed"
  | "timed_out"
  | "discarded"
  | "snoozed"
  | "released"
  | "interrupted"
  | "reclaimed"
  | "cancelled";
