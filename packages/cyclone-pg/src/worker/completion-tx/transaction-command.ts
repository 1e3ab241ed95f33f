/** What a text does to the transaction it is sent in. */
export type TransactionCommand =
  | { readonly kind: "begin" | "commit" | "rollback" }
  /** It ends or splits the transaction in a way that has no counterpart inside another one. */
  | { readonly kind: "refused"; readonly command: string }
  | { readonly kind: "other" };

const BEGIN = /^(begin|start\s+transaction)\b/i;
const COMMIT = /^(commit|end)\b(?!\s+prepared)/i;
const ROLLBACK = /^(rollback|abort)\b(?!\s+prepared)/i;
const TO_SAVEPOINT = /^rollback\s+(work\s+|transaction\s+)?to\b/i;
const PREPARE = /^prepare\s+transaction\b/i;
const CHAIN = /\band\s+chain\b/i;
const NO_CHAIN = /\band\s+no\s+chain\b/i;

/**
 * Reads the first words of a text. What an ORM's own transaction sends (BEGIN, COMMIT, ROLLBACK) is told from the rest; a text of
 * several statements that begins so can't be mapped and is refused.
 */
export function transactionCommand(text: string): TransactionCommand {
  const start = withoutLeadingComments(text);
  if (TO_SAVEPOINT.test(start)) return { kind: "other" };
  const kind = BEGIN.test(start)
    ? "begin"
    : COMMIT.test(start)
      ? "commit"
      : ROLLBACK.test(start)
        ? "rollback"
        : undefined;
  if (kind === undefined)
    return PREPARE.test(start) ? { kind: "refused", command: "PREPARE TRANSACTION" } : { kind: "other" };
  const rest = start.slice(start.indexOf(";") + 1);
  if (start.includes(";") && withoutLeadingComments(rest).replaceAll(";", "").trim() !== "") {
    return { kind: "refused", command: "several statements in one text" };
  }
  if (CHAIN.test(start) && !NO_CHAIN.test(start)) return { kind: "refused", command: "AND CHAIN" };
  return { kind };
}

function withoutLeadingComments(text: string): string {
  let at = 0;
  for (;;) {
    while (at < text.length && /[\s;]/.test(text[at] ?? "")) at += 1;
    if (text.startsWith("--", at)) {
      const end = text.indexOf("\n", at);
      if (end === -1) return "";
      at = end + 1;
    } else if (text.startsWith("/*", at)) {
      at = endOfComment(text, at);
    } else {
      return text.slice(at);
    }
  }
}

// Postgres nests comments.
function endOfComment(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    if (text.startsWith("/*", at)) {
      depth += 1;
      at += 2;
    } else if (text.startsWith("*/", at)) {
      depth -= 1;
      at += 2;
      if (depth === 0) return at;
    } else {
      at += 1;
    }
  }
  return text.length;
}
