/**
 * Conditions that hold for every row, on a range whose bounds the planner can't see: it expects a two-hundredth of the rows to be in it. So a
 * walk along an index that a limit will stop is priced as a short one, however many rows the statistics say that there are. Priced for a tenth
 * of them, as a limit that can't be seen is, the claim from a large queue looks dear enough for just-in-time compilation,
 * which takes half a second each time. See docs/decisions/0002-plans.md.
 *
 * @param alias of a relation with the steps' column
 */
export const anyPriority = (alias: string): string =>
  `${alias}.priority between (select (-32768)::smallint) and (select 32767::smallint)`;

/** The same for the key of a node. */
export const anyKey = (alias: string): string => `${alias}.key between (select 0) and (select 2147483647)`;

/** The same for a time that isn't null. */
export const anyTime = (column: string): string =>
  `${column} between (select '-infinity'::timestamptz) and (select 'infinity'::timestamptz)`;
