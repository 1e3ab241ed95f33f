import { FutureMisusedError } from "../errors/future-misused-error.ts";
import { formatJsonPath } from "../model/json-path.ts";
import { futureRuntimeOf } from "./future-runtime.ts";

/**
 * Says "this is a literal": the value itself, taken as it is. The same as passing the value, and a check besides.
 * @throws FutureMisusedError (`CYCLONE_FUTURE_MISUSED`) if it holds a future, at any depth
 */
export function lit<const T>(value: T): T {
  const seen = new Set<object>();
  const open: { value: unknown; path: readonly PropertyKey[] }[] = [{ value, path: [] }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value: part, path } = at;
    if (typeof part !== "object" || part === null || seen.has(part)) continue;
    seen.add(part);
    const future = futureRuntimeOf(part);
    if (future !== undefined) {
      throw new FutureMisusedError(
        `lit was given the future of node "${future.label}" at ${formatJsonPath(path)}: leave lit out, or use from.`,
      );
    }
    const isArray = Array.isArray(part);
    for (const key of Object.keys(part)) {
      open.push({ value: (part as Record<string, unknown>)[key], path: [...path, isArray ? Number(key) : key] });
    }
  }
  return value;
}
