import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** Why a node was discarded by the sweep: its lease ran out more often than `maxReclaims` allows. */
export class MaxReclaimsError extends CycloneError {
  declare readonly code: "CYCLONE_MAX_RECLAIMS";
  readonly runId: string;
  readonly node: string;
  readonly maxReclaims: number;

  constructor(runId: string, node: string, maxReclaims: number) {
    super(
      "CYCLONE_MAX_RECLAIMS",
      `Node "${node}" of run ${runId} lost its lease again after ${maxReclaims} reclaims (maxReclaims): its worker probably ends ` +
        "whenever it calls this handler. Look at that worker's log, mend the handler, then retry the run.",
    );
    this.runId = runId;
    this.node = node;
    this.maxReclaims = maxReclaims;
  }

  static {
    markError(this, "MaxReclaimsError");
  }
}
