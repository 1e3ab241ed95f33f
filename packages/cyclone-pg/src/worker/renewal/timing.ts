// When leases are renewed, and what follows from it for who may take them away.

const TIMEOUT_MIN_MS = 1_000;
const TIMEOUT_MAX_MS = 15_000;
const RETRY_MAX_MS = 1_000;
/** To connect anew and to renew, once the network is back. */
const RECONNECTED_WITHIN_MS = 300;

export function renewalEveryMs(leaseMs: number): number {
  return leaseMs / 3;
}

/** How long a renewal may take before its connection counts as broken: so that there is time for another try. */
export function renewalTimeoutMs(leaseMs: number): number {
  return Math.min(TIMEOUT_MAX_MS, Math.max(TIMEOUT_MIN_MS, leaseMs / 6));
}

/** How soon a renewal that failed is tried again. */
export function renewalRetryMs(leaseMs: number): number {
  return Math.min(RETRY_MAX_MS, leaseMs / 10);
}

/**
 * How long a worker must have been connected, and the server up, before it reclaims: after an outage longer than the lease every live
 * handler's lease has run out, and by then each live owner has renewed, also one whose last try began just before the end of the outage.
 */
export function reclaimGuardMs(leaseMs: number): number {
  return Math.max(renewalEveryMs(leaseMs), renewalTimeoutMs(leaseMs) + renewalRetryMs(leaseMs) + RECONNECTED_WITHIN_MS);
}

/**
 * The longest silence of a connection in which no live handler's lease can have run out: that takes an outage of at least two thirds
 * of it. A longer silence may hide such an outage.
 */
export function silenceMaxMs(leaseMs: number): number {
  return leaseMs / 2;
}
