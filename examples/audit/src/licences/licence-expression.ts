import { licenceName } from "./licence-names.ts";

/** An SPDX licence expression. */
export type LicenceExpression =
  | { readonly kind: "licence"; readonly id: string; readonly exception: string | null }
  | { readonly kind: "and" | "or"; readonly parts: readonly LicenceExpression[] };

/**
 * Reads what a manifest says: an SPDX expression (`MIT`, `(MIT OR Apache-2.0)`, `GPL-2.0 WITH Classpath-exception-2.0`) or one
 * of the looser spellings (`Apache 2.0`, `MIT/Apache-2.0`).
 *
 * @returns undefined for anything else
 */
export function parseLicence(text: string): LicenceExpression | undefined {
  const whole = licenceName(text.trim());
  if (whole !== undefined) return { kind: "licence", id: whole, exception: null };
  const words = text.match(/[()/]|[^\s()/]+/g) ?? [];
  const reader = new ExpressionReader(words);
  const expression = reader.readOr();
  return expression !== undefined && reader.atEnd ? expression : undefined;
}

/** One text for expressions that mean the same: operands sorted, each once, no needless parentheses. */
export function formatLicence(expression: LicenceExpression): string {
  if (expression.kind === "licence") {
    return expression.exception === null ? expression.id : `${expression.id} WITH ${expression.exception}`;
  }
  const parts = expression.parts.map((part) => {
    const text = formatLicence(part);
    return expression.kind === "and" && part.kind === "or" && text.includes(" OR ") ? `(${text})` : text;
  });
  const operator = expression.kind === "and" ? " AND " : " OR ";
  return [...new Set(parts)].toSorted().join(operator);
}

/** Recursive descent: `or` is made of `and`s, an `and` of licences or expressions in parentheses. */
class ExpressionReader {
  readonly #words: readonly string[];
  #position = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  get atEnd(): boolean {
    return this.#position === this.#words.length;
  }

  readOr(): LicenceExpression | undefined {
    return this.#readOperands("or", ["OR", "/", "||"], () => this.#readAnd());
  }

  #readAnd(): LicenceExpression | undefined {
    return this.#readOperands("and", ["AND", "&", "&&"], () => this.#readOperand());
  }

  #readOperands(
    kind: "and" | "or",
    operators: readonly string[],
    read: () => LicenceExpression | undefined,
  ): LicenceExpression | undefined {
    const parts: LicenceExpression[] = [];
    do {
      const part = read();
      if (part === undefined) return undefined;
      if (part.kind === kind) parts.push(...part.parts);
      else parts.push(part);
    } while (this.#take(...operators));
    return parts.length === 1 ? parts[0] : { kind, parts };
  }

  #readOperand(): LicenceExpression | undefined {
    if (this.#take("(")) {
      const inner = this.readOr();
      return this.#take(")") ? inner : undefined;
    }
    const id = licenceName(this.#next() ?? "");
    if (id === undefined) return undefined;
    if (!this.#take("WITH")) return { kind: "licence", id, exception: null };
    const exception = this.#next();
    return exception === undefined ? undefined : { kind: "licence", id, exception };
  }

  #next(): string | undefined {
    const word = this.#words[this.#position];
    if (word === undefined || /^([()/]|AND|OR|WITH)$/i.test(word)) return undefined;
    this.#position += 1;
    return word;
  }

  #take(...wanted: readonly string[]): boolean {
    const word = this.#words[this.#position];
    if (word === undefined || !wanted.includes(word.toUpperCase())) return false;
    this.#position += 1;
    return true;
  }
}
