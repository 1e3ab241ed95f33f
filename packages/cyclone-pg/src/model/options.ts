import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/**
 * Throws for a key that isn't among the allowed ones, with the nearest allowed one as a suggestion.
 * @param what what the options belong to, such as `step "fetch"`
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`), also if `options` isn't an object
 */
export function rejectUnknownKeys(options: unknown, allowed: readonly string[], what: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new InvalidOptionError("options", `The options of ${what} must be an object.`);
  }
  for (const key of Object.keys(options)) {
    if (allowed.includes(key)) continue;
    const advice = suggestion(key, allowed) ?? `it takes ${allowed.join(", ")}`;
    throw new InvalidOptionError(key, `Unknown option "${key}" of ${what}: ${advice}`);
  }
}

/** Asks whether the known word that is nearest to this one was meant; `undefined`: none is near. */
export function suggestion(word: string, known: readonly string[]): string | undefined {
  const near = nearest(word, known);
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

/**
 * Checks a whole number within bounds.
 * @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`)
 */
export function checkInteger(value: unknown, min: number, max: number, option: string, what: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value + 0;
  const shown = typeof value === "number" ? String(value) : value === null ? "null" : `a ${typeof value}`;
  throw new InvalidOptionError(option, `${option} of ${what} is ${shown}: give a whole number from ${min} to ${max}.`);
}

function nearest(key: string, allowed: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(key.length / 3)) + 1;
  for (const candidate of allowed) {
    const distance = editDistance(key.toLowerCase().slice(0, 50), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
