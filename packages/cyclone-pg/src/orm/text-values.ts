/**
 * Parameters as the texts that Postgres reads. Libraries have rules of their own for arrays, JSON and dates (postgres.js, for one,
 * encodes as JSON again what is a JSON text already); they agree on texts, and each parameter of the engine's is cast anyway.
 */
export function textValues(values: readonly unknown[]): (string | boolean | null)[] {
  // A boolean is one everywhere, and postgres.js takes any other value for false.
  return values.map((value) => (typeof value === "boolean" ? value : textValue(value)));
}

function textValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return arrayLiteral(value);
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** An array of any depth as Postgres writes it, each element quoted. */
function arrayLiteral(elements: readonly unknown[]): string {
  const texts = elements.map((element) => {
    const text = textValue(element);
    if (text === null) return "null";
    return Array.isArray(element) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${texts.join(",")}}`;
}
