interface Placeholder {
  readonly ref: number;
}

/**
 * Puts values into the parsed template of a node's input (see `template.ts`). Takes the template over: it is changed in
 * place where it can be.
 * @param references the value of each reference; `undefined` leaves its property out, and is kept as an element of an array
 */
export function bindInput(template: unknown, references: readonly unknown[]): unknown {
  return references.length === 0 ? template : bind(template, references);
}

function bind(value: unknown, references: readonly unknown[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      if (typeof element === "object" && element !== null) value[i] = bind(element, references);
    }
    return value;
  }
  if (Object.hasOwn(value, "$future")) return references[(value as Placeholder).ref];
  if (Object.hasOwn(value, "$literal")) return bindProperties((value as { $literal: Properties }).$literal, references);
  return bindProperties(value as Properties, references);
}

type Properties = Record<string, unknown>;

function bindProperties(record: Properties, references: readonly unknown[]): Properties {
  for (const key of Object.keys(record)) {
    const property = record[key];
    if (typeof property !== "object" || property === null) continue;
    const bound = bind(property, references);
    // An assignment reaches an own `__proto__`, as JSON.parse makes it, like any other own property.
    if (bound === undefined) delete record[key];
    else if (bound !== property) record[key] = bound;
  }
  return record;
}
