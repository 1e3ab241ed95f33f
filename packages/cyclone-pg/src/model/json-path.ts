const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A JSON path for people: `$.items[3].createdAt`, `$["odd key"]`; `$` is the whole value. */
export function formatJsonPath(keys: readonly PropertyKey[]): string {
  let text = "$";
  for (const key of keys) {
    if (typeof key === "number") text += `[${key}]`;
    else if (typeof key === "string" && IDENTIFIER.test(key)) text += `.${key}`;
    else text += `[${JSON.stringify(String(key))}]`;
  }
  return text;
}
