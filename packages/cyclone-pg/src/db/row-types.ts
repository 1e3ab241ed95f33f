// The engine reads its rows with parsers of its own: an application may have changed those of `pg` for the whole process
// (bigint to BigInt, JSON to text), and must not change what the engine sees by it.

const asIs = (text: string): unknown => text;
const integers = (text: string): number[] => (text === "{}" ? [] : text.slice(1, -1).split(",").map(Number));

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  114: (text) => JSON.parse(text),
  3802: (text) => JSON.parse(text),
  1007: integers,
  1184: timestamp,
};

/** Type parsers for `pg`'s query option `types`. */
export const rowTypes = {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it
  getTypeParser: (oid: number): any => parsers[oid] ?? asIs,
};

function timestamp(text: string): Date | null {
  // "2026-01-02 03:04:05.678901+00", whatever the session's TimeZone; zones such as +05:30 and +00:19:32 (before 1900) occur.
  const match = /^(\d+-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*([+-]\d\d)(?::(\d\d))?/.exec(text);
  return match === null ? null : new Date(`${match[1]}T${match[2]}${match[3]}:${match[4] ?? "00"}`);
}
