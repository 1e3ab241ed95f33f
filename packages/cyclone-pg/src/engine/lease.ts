/** The right to a running step: its place and the epoch of the claim, which is the fencing token. */
export interface Lease {
  readonly bucket: number;
  readonly runId: string;
  readonly key: number;
  readonly item: number;
  readonly epoch: number;
}

/** The lock order of all transitions: by run, then key, then item (the items of a forEach sort before their node). */
export function compareLeases(a: Lease, b: Lease): number {
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.key - b.key || a.item - b.item;
}

/** Leases of one bucket as the arrays that the statements take. */
export function leaseArrays(leases: readonly Lease[]): {
  readonly bucket: number;
  readonly runIds: string[];
  readonly keys: number[];
  readonly items: number[];
  readonly epochs: number[];
} {
  return {
    bucket: leases[0]?.bucket ?? 0,
    runIds: leases.map((lease) => lease.runId),
    keys: leases.map((lease) => lease.key),
    items: leases.map((lease) => lease.item),
    epochs: leases.map((lease) => lease.epoch),
  };
}
