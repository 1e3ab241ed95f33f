/** Whether minutes are to be spent (`npm run soak`) rather than seconds, as continuous integration does. */
export const isSoak = process.env["CYCLONE_SOAK"] === "long";

/** How much of something a test takes: the short form or the long one. */
export function span(short: number, long: number): number {
  return isSoak ? long : short;
}
