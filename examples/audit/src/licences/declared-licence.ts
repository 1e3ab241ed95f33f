/** What a manifest says about the licence, in whichever of the forms that npm has known. */
export type DeclaredLicence =
  /** One licence or expression; several, in the old list form, are a choice. */
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  /** `SEE LICENSE IN <file>`: the licence has no SPDX id, or its author didn't look for one. */
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "nothing" };

/**
 * Brings the forms together: a string, the old `{ type, url }`, and lists of either, which meant a choice.
 * `license` counts before the older `licenses`.
 */
export function declaredLicence(license: unknown, licenses: unknown): DeclaredLicence {
  const texts = textsOf(license).length > 0 ? textsOf(license) : textsOf(licenses);
  const [first, second] = texts;
  if (first === undefined) return { kind: "nothing" };
  const file = second === undefined ? /^see licen[cs]e in (.+)$/i.exec(first)?.[1] : undefined;
  return file === undefined ? { kind: "texts", texts } : { kind: "file", file: file.trim() };
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [value.trim()];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value === "object" && value !== null) {
    const { type, name } = value as { type?: unknown; name?: unknown };
    return textsOf(type ?? name);
  }
  return [];
}
