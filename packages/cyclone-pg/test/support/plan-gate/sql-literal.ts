import { escapeLiteral } from "pg";

/** A parameter's value as an SQL literal, for EXECUTE, which takes no parameters itself. Its type is left to the context. */
export function sqlLiteral(value: unknown): string {
  return value === null || value === undefined ? "null" : escapeLiteral(valueText(value));
}

/** As the driver sends it. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return arrayText(value);
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\x${value.toString("hex")}`;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return String(value);
}

function arrayText(values: readonly unknown[]): string {
  const elements = values.map((value) => {
    if (value === null || value === undefined) return "NULL";
    if (Array.isArray(value)) return arrayText(value);
    return `"${valueText(value).replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${elements.join(",")}}`;
}
