import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** Why a node was discarded: its lease ran out, or its completionTx was interrupted (`cause`), more often than `maxReclaims` allows. */
export class MaxReclaimsError extends CycloneError {
  declare readonly code: "CYCLONE_MAX_RECLAIMS";
  /** The run that the node belongs to. */
  readonly runId: string;
  /** The node that was discarded. */
  readonly node: string;
  /** How many reclaims it was allowed. */
  readonly maxReclaims: number;

  constructor(runId: string, node: string, maxReclaims: number, options?: ErrorOptions) {
    const what =
      options === undefined
        ? `lost its lease again after ${maxReclaims} reclaims (maxReclaims): its worker probably ends whenever it calls this handler. Look at that worker's log, mend the handler`
        : `was interrupted again after ${maxReclaims} interruptions and reclaims (maxReclaims); the cause says by what. Where transactions conflict, keep them short, let fewer run at a time, or raise maxReclaims`;
    super("CYCLONE_MAX_RECLAIMS", `Node "${node}" of run ${runId} ${what}, then retry the run.`, options);
    this.runId = runId;
    this.node = node;
    this.maxReclaims = maxReclaims;
  }

  static {
    markError(this, "MaxReclaimsError");
  }
}
