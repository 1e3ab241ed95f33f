import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** Two nodes of one build were given the same name. */
export class DuplicateNodeError extends CycloneError {
  declare readonly code: "CYCLONE_DUPLICATE_NODE";
  /** The workflow whose build was refused. */
  readonly workflow: string;
  /** The name that two nodes were given. */
  readonly node: string;

  constructor(workflow: string, node: string) {
    super(
      "CYCLONE_DUPLICATE_NODE",
      `Two nodes of workflow "${workflow}" are named "${node}": give one of them another \`name\`, or leave it out for a numbered one.`,
    );
    this.workflow = workflow;
    this.node = node;
  }

  static {
    markError(this, "DuplicateNodeError");
  }
}
