import { NAME_LENGTH_MAX } from "../model/names.ts";
import { endsInIndex } from "./node-options.ts";

/** What a node's name is made from. */
export interface NameRequest {
  /** The step's or action's name. */
  readonly step: string;
  /** The name that was given, if any. */
  readonly name: string | undefined;
}

/**
 * The nodes' names, in the order of the nodes: the given ones as they are; the others get their step's name, then
 * `name-2`, `name-3` and so on, free of all that are given anywhere in the build.
 */
export function assignNames(requests: readonly NameRequest[]): string[] {
  const taken = new Set<string>();
  for (const request of requests) if (request.name !== undefined) taken.add(request.name);
  const nextNumbers = new Map<string, number>();
  return requests.map(({ step, name }) => {
    if (name !== undefined) return name;
    let number = nextNumbers.get(step) ?? 1;
    let candidate = numberedName(step, number);
    while (taken.has(candidate)) candidate = numberedName(step, ++number);
    nextNumbers.set(step, number + 1);
    taken.add(candidate);
    return candidate;
  });
}

function numberedName(step: string, number: number): string {
  // A step may be called "x[3]"; a node may not, as an item task of node "x" could be.
  if (number === 1 && !endsInIndex(step)) return step;
  const suffix = `-${number}`;
  const room = NAME_LENGTH_MAX - suffix.length;
  return (step.length <= room ? step : Array.from(step).slice(0, room).join("")) + suffix;
}
