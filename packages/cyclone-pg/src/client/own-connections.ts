import { BorrowedConnections } from "../db/borrowed-connections.ts";
import type { ResolvedClientOptions } from "./options.ts";

const ACQUIRE_LIMIT_MS = 30_000;

/** The connections for a client's submits and reads, where the user gives no Pool: a share of `maxConnections`, within what a worker needs itself. */
export function ownConnections({
  source,
  steps,
  workflows,
  maxConnections,
  listen,
}: Pick<ResolvedClientOptions, "source" | "steps" | "workflows" | "maxConnections" | "listen">): BorrowedConnections {
  const worker = steps.size + workflows.size > 0;
  const dedicated = listen ? 4 : 3;
  const max = worker
    ? Math.max(1, Math.floor((maxConnections - dedicated) / 3))
    : Math.max(1, maxConnections - (listen ? 1 : 0));
  return new BorrowedConnections({
    config: source.config,
    applicationName: "cyclone",
    max,
    acquireTimeoutMs: ACQUIRE_LIMIT_MS,
    purpose: "a submit or read",
  });
}
