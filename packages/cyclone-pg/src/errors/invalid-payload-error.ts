import { CycloneError } from "./cyclone-error.ts";
import { markError } from "./mark-error.ts";

/** One complaint of a schema. */
export interface PayloadIssue {
  /** JSON path of the refused part, such as `$.items[3].at`; `$` is the whole. */
  readonly path: string;
  /** What the schema says about it. */
  readonly message: string;
}

/** A value can't be stored as it is, or a schema refused it; nothing was written. */
export class InvalidPayloadError extends CycloneError {
  declare readonly code: "CYCLONE_INVALID_PAYLOAD";
  /** Where in the value, such as `$.items[3].createdAt`; `$` is the whole. */
  readonly path: string;
  /** What a schema had to say; `undefined` if no schema was involved. */
  readonly issues: readonly PayloadIssue[] | undefined;

  constructor(path: string, message: string, options?: ErrorOptions & { issues?: readonly PayloadIssue[] }) {
    super("CYCLONE_INVALID_PAYLOAD", message, options);
    this.path = path;
    this.issues = options?.issues;
  }

  static {
    markError(this, "InvalidPayloadError");
  }
}
