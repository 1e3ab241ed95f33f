import { type Group, runIdOf } from "../volume.ts";

/** The leases of running nodes of a volume, in the order that the engine sends them in. */
export function leasesOf(
  group: Group,
  runs: number,
  keys: readonly number[] = [0],
): {
  readonly bucket: number;
  readonly runIds: string[];
  readonly keys: number[];
  readonly items: number[];
  readonly epochs: number[];
} {
  const members = Array.from({ length: runs }, (_, i) =>
    keys.map((key) => ({ runId: runIdOf(group, i + 1), key })),
  ).flat();
  return {
    bucket: 0,
    runIds: members.map((member) => member.runId),
    keys: members.map((member) => member.key),
    items: members.map(() => 0),
    epochs: members.map(() => 1),
  };
}

/** The numbers from `first`, `count` of them. */
export function countUp(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}
