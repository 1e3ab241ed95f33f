/** Progress lines of the scripts: one when a stage begins, one with its duration when it ends. */

/** @param {number} sinceMs */
export function secondsSince(sinceMs) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

/**
 * Runs one stage, says so, and says how long it took.
 *
 * @template T
 * @param {string} title
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function stage(title, work) {
  const startedAt = performance.now();
  console.log(`» ${title} …`);
  const outcome = await work();
  console.log(`  done in ${secondsSince(startedAt)}`);
  return outcome;
}
