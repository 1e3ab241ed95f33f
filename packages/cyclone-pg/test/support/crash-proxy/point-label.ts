const namedStatement = /^\s*\/\*\s*cyclone:([\w-]+)\s*\*\//;
const textMax = 64;

export function beginsTransaction(text: string): boolean {
  return /^\s*(begin|start\s+transaction)\b/i.test(text);
}

export function endsTransaction(text: string): boolean {
  return /^\s*(commit|end|abort|rollback(?!\s+to))\b/i.test(text);
}

/** A statement's name from its leading comment, else the beginning of its text on one line, without its literals. */
export function statementLabel(text: string): string {
  const name = namedStatement.exec(text)?.[1];
  if (name !== undefined) return name;
  const line = text
    .replace(/'(?:[^']|'')*'/g, "?")
    .replace(/(?<![$\w])\d+/g, "?")
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase();
  return line.length > textMax ? `${line.slice(0, textMax)}…` : line;
}

/**
 * What a report calls a sync point: the labels of its statements. The end of a transaction says what it ends, since
 * "commit" alone would make all of them one point: `commit (complete_steps)`.
 *
 * @param transaction labels of what ran since the session was last idle
 */
export function pointLabel(texts: readonly string[], transaction: readonly string[]): string {
  if (texts.length === 0) return "sync";
  return texts
    .map((text) => {
      const label = statementLabel(text);
      if (!endsTransaction(text)) return label;
      const within = [...new Set(transaction)].filter((other) => !beginsTransaction(other));
      return within.length === 0 ? label : `${label} (${within.join(", ")})`;
    })
    .join("; ");
}
