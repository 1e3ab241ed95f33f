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
};

/** Type parsers for `pg`'s query option `types`. */
export const rowTypes = {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it
  getTypeParser: (oid: number): any => parsers[oid] ?? asIs,
};
