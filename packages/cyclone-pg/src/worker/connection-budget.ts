import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** How a worker shares out its connections; renewing, claiming and recording have one each, listening one if it is on. */
export interface ConnectionBudget {
  /** For submits and reads. */
  readonly statements: number;
  /** For completionTx. */
  readonly completionTx: number;
}

const DEDICATED = 3;

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if there are too few to work with */
export function connectionBudget(maxConnections: number, listen: boolean, hasUserPool: boolean): ConnectionBudget {
  const dedicated = DEDICATED + (listen ? 1 : 0);
  const rest = maxConnections - dedicated;
  const least = hasUserPool ? 1 : 2;
  if (rest < least) {
    throw new InvalidOptionError(
      "maxConnections",
      `A worker needs at least ${dedicated + least} connections: renewing leases, claiming and recording take one each, ${listen ? "listening one, " : ""}` +
        `${hasUserPool ? "" : "submits and reads one, "}completionTx one. maxConnections is ${maxConnections}.`,
    );
  }
  const statements = hasUserPool ? 0 : Math.max(1, Math.floor(rest / 3));
  return { statements, completionTx: rest - statements };
}
