/** Text that a database takes and a terminal shows: well-formed, without control characters, of a sensible length. */
export function readableText(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const text = value
    .replace(/\p{Cc}+/gu, " ")
    .replace(/\p{Cs}/gu, "\uFFFD")
    .trim();
  return text === "" ? null : Array.from(text).slice(0, 200).join("");
}
