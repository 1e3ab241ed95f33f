/** What a claim may take: one lane per queue and step name. */
export interface Lanes {
  readonly queues: string[];
  readonly steps: string[];
  readonly quotas: number[];
  readonly sole: boolean[];
}

/**
 * The lanes of one claim: each queue gets an equal share of the free slots, within what its own limit leaves. Queues and steps are
 * rotated by `turn`, so that ties don't always fall to the same one.
 * @param freeOf how many slots a queue's own limit leaves
 */
export function lanesOf(
  queues: readonly string[],
  steps: readonly string[],
  free: number,
  freeOf: (queue: string) => number,
  turn: number,
): Lanes {
  const open = queues.filter((queue) => freeOf(queue) > 0);
  const share = Math.max(1, Math.ceil(free / Math.max(1, open.length)));
  const lanes: Lanes = { queues: [], steps: [], quotas: [], sole: [] };
  for (const queue of rotated(open, turn)) {
    const quota = Math.min(freeOf(queue), share);
    for (const step of rotated(steps, turn)) {
      lanes.queues.push(queue);
      lanes.steps.push(step);
      lanes.quotas.push(quota);
      lanes.sole.push(steps.length === 1);
    }
  }
  return lanes;
}

function rotated<T>(list: readonly T[], turn: number): T[] {
  if (list.length === 0) return [];
  const at = turn % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
